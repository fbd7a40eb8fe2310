"""The names and shapes of a model's weights, without building it in torch."""

from collections.abc import Iterator

from hark.config import ModelConfig

Shape = tuple[int, ...]


def weight_shapes(config: ModelConfig) -> dict[str, Shape]:
    """The shape of every weight of `hark.model.Transformer(config)`, by name."""
    return dict(_all(config))


def _all(config: ModelConfig) -> Iterator[tuple[str, Shape]]:
    width, source = config.d_model, config.source_vocab_size or config.vocab_size
    yield "embedding.weight", (config.vocab_size, width)
    if config.tie != "all":
        yield "source_embedding.weight", (source, width)
    if config.tie == "none":
        yield "projection.weight", (config.vocab_size, width)
    if config.output_bias:
        yield "output_bias", (config.vocab_size,)
    for side in ("source", "target"):
        if config.positions == "learned":
            yield f"{side}_positions.weight", (config.max_positions, width)
        if config.embedding_norm:
            yield from _norm(f"{side}_norm", width)
    for stack, layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        if config.norm == "pre":
            yield from _norm(f"{stack}.norm", width)
        for layer in range(layers):
            yield from _layer(f"{stack}.layers.{layer}", config, cross=stack == "decoder")


def _layer(name: str, config: ModelConfig, cross: bool) -> Iterator[tuple[str, Shape]]:
    width, keys, values = config.d_model, config.n_heads * config.k_width, config.n_heads * config.v_width
    for attention in ("self_attention", "cross_attention") if cross else ("self_attention",):
        outer = {"w_q": (keys, width), "w_k": (keys, width), "w_v": (values, width), "w_o": (width, values)}
        for part, shape in outer.items():
            yield f"{name}.{attention}.{part}.weight", shape
            if config.attention_bias:
                yield f"{name}.{attention}.{part}.bias", shape[:1]
        yield from _norm(f"{name}.{attention}_residual.norm", width)
    inner = {"w_1": (config.d_ff, width), "w_2": (width, config.d_ff)}
    if config.activation == "swiglu":
        inner["w_gate"] = (config.d_ff, width)
    for part, shape in inner.items():
        yield f"{name}.feed_forward.{part}.weight", shape
        yield f"{name}.feed_forward.{part}.bias", shape[:1]
    yield from _norm(f"{name}.feed_forward_residual.norm", width)


def _norm(name: str, width: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (width,)
    yield f"{name}.bias", (width,)
