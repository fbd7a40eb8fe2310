"""The settings of a Hugging Face Marian model of the same size as one of ours."""

from typing import Any

from hark.config import ModelConfig
from hark.text.tokenizer import SPECIAL


def marian_config(config: ModelConfig, **more: Any) -> Any:
    """Return a `MarianConfig` with our sizes and special ids, ReLU and PyTorch's fused attention."""
    from transformers import MarianConfig  # type: ignore[import-not-found]

    return MarianConfig(
        vocab_size=config.vocab_size,
        d_model=config.d_model,
        encoder_layers=config.n_encoder_layers,
        decoder_layers=config.n_decoder_layers,
        encoder_attention_heads=config.n_heads,
        decoder_attention_heads=config.n_heads,
        encoder_ffn_dim=config.d_ff,
        decoder_ffn_dim=config.d_ff,
        activation_function="relu",
        max_position_embeddings=config.max_positions,
        scale_embedding=True,
        pad_token_id=SPECIAL.pad,
        bos_token_id=SPECIAL.start,
        eos_token_id=SPECIAL.end,
        decoder_start_token_id=SPECIAL.start,
        attn_implementation="sdpa",
        **more,
    )
