"""Hark's side of a parity check: a bundle, run by hark's own engines, sentence by sentence as the model sees it."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

import hark
from hark.bundle import Bundle
from hark.config import DecodeConfig, ModelConfig
from hark.engine.ctranslate2 import ComputeType, CTranslate2Engine, obstacle
from hark.engine.interface import Engine, Request
from hark.errors import UserError
from hark.exchange.parity import Ids, Lazy, Side, recorded
from hark.facts import LanguagePair
from hark.text.opening import open_vocabularies
from hark.weights import Array, WeightFile, Weights, as_floats

if TYPE_CHECKING:
    from hark.model.interface import Model

MAX_COMPARED_TOKENS = 96
"""Target tokens of a sentence whose logits are compared, for imports. Only a model that does not end its translations
has more, and each takes as much memory as the vocabulary is large."""
AT_ONCE = 4
"""Sentences that are translated at once: CTranslate2 keeps the memory of the largest batch."""


def hark_side(
    bundle: Bundle,
    pair: LanguagePair | None = None,
    precision: ComputeType = "float32",
    weights: Weights | None = None,
    max_target: int | None = None,
) -> Side:
    """Hark's side for a language pair, by default the model's first, if it has any. Logits and layers require torch and
    float32.

    weights: those of the bundle by default; pass others to compare with an export whose weights were rounded.
    max_target: tokens of a translation that are compared, by default as many as the model has positions.
    """
    source_language, target_language = pair or (bundle.facts.pairs[0] if bundle.facts.pairs else (None, None))
    source, target = open_vocabularies(bundle)
    config, stored = bundle.config.model, WeightFile(bundle.weights) if weights is None else weights
    # What an untrained model writes may take more tokens when it is encoded again.
    longest = min(max_target or config.max_positions, config.max_positions - 1)
    network = Lazy(lambda: build_network(stored, config))

    def open_engine() -> Engine:
        if obstacle(config) is None:
            return CTranslate2Engine(stored, config, target.special, precision, threads=1, frugal=True, all_bits=True)
        from hark.engine.torch import TorchEngine

        return TorchEngine(network.model, target.special, "cpu", "float32")

    loaded = Lazy(open_engine, Engine.close)
    prefix = target.prefix(target_language)

    def source_tokens(text: str) -> Ids:
        return source.source_ids(text, target_language, source_language)

    def translate(texts: Sequence[str], beam: int) -> list[str]:
        search = DecodeConfig(beam=beam, alpha=0.0, shortlist=False)
        requests = [Request(source_tokens(text), search, prefix) for text in texts]
        found: list[str] = []
        for first in range(0, len(requests), AT_ONCE):
            answers = dict(loaded.model.run(requests[first : first + AT_ONCE]))
            found += [target.decode_one(answers[place][0].tokens).strip() for place in range(len(answers))]
        return found

    def log_probs(source_ids: Ids, target_ids: Ids) -> Array:
        (found,) = loaded.model.score([(source_ids, target_ids)])
        return np.array(found)

    side = Side(
        f"hark {hark.__version__}, {precision}",
        translate,
        source_tokens,
        lambda text: [*prefix, *target.encode_one(text)][:longest],
        log_probs=log_probs,
        release=loaded.release,
    )
    if precision != "float32" or find_spec("torch") is None:
        return side

    def run(source_ids: Ids, target_ids: Ids) -> dict[str, Array]:
        return run_layers(network.model, source_ids, [target.special.start, *target_ids])

    def layers(source_ids: Ids, target_ids: Ids) -> dict[str, Array]:
        return {name: array for name, array in run(source_ids, target_ids).items() if name != "logits"}

    def release() -> None:
        loaded.release()
        network.release()

    return replace(side, logits=lambda *pair: run(*pair)["logits"], layers=layers, release=release)


def hark_text_side(bundle: Bundle, weights: Weights | None = None) -> Side:
    """Hark's side for a model of one stack: the tokens of a text, and the logits that follow each of them."""
    _, vocabulary = open_vocabularies(bundle)
    config, stored = bundle.config.model, WeightFile(bundle.weights) if weights is None else weights
    network = Lazy(lambda: build_network(stored, config))
    first = [] if vocabulary.text_start is None else [vocabulary.text_start]

    def run(ids: Ids) -> dict[str, Array]:
        import torch

        with torch.inference_mode(), recorded(layers_of(network.model)) as found:
            lengths = {"target": torch.tensor([len(ids)])}
            logits = network.model(torch.tensor([ids]), network.model.padded_layout(lengths))
        return found | {"logits": logits[0].numpy()}

    return text_side(
        f"hark {hark.__version__}, float32", lambda text: [*first, *vocabulary.encode_one(text)], run, network.release
    )


def text_side(
    name: str, tokens: Callable[[str], Ids], run: Callable[[Ids], dict[str, Array]], release: Callable[[], None]
) -> Side:
    """A side of `parity.compare_texts`. `run` returns the outputs of all layers, and the logits, of a text."""

    def refuse(_: Sequence[str], __: int) -> Sequence[str]:
        raise UserError(f"{name}: the model has one stack, so it does not translate")

    def layers(ids: Ids, _: Ids) -> dict[str, Array]:
        return {name: array for name, array in run(ids).items() if name != "logits"}

    return Side(name, refuse, tokens, lambda _: [], lambda ids, _: run(ids)["logits"], layers=layers, release=release)


def fitting_texts(side: Side, texts: Sequence[str], config: ModelConfig) -> list[str]:
    """The texts for which a model has enough positions."""
    tokens = side.source_tokens
    return [text for text in texts if tokens is None or len(tokens(text)) <= config.max_positions]


def build_network(weights: Weights, config: ModelConfig) -> "Model":
    import torch

    from hark.model.weights import build_model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the arrays of a mapped file are read-only
        tensors = {name: torch.from_numpy(array) for name, array in as_floats(weights).items()}
    return build_model(config, tensors, "parity check", share=True)


def layers_of(model: "Model") -> dict[str, Any]:
    """The modules whose outputs are compared, by name."""
    modules: dict[str, Any] = {
        f"{name} layer {i}": layer for name, stack in model.stacks.items() for i, layer in enumerate(stack.layers, 1)
    }
    return modules | {f"{name} norm": stack.norm for name, stack in model.stacks.items() if stack.norm is not None}


def run_layers(model: "Model", source: Ids, target: Ids) -> dict[str, Array]:
    """The outputs of all layers, and the logits, of one sentence pair; `target` begins with the start token."""
    import torch

    tokens = torch.tensor([source]), torch.tensor([target])
    lengths = {name: torch.tensor([ids.shape[1]]) for name, ids in zip(("source", "target"), tokens, strict=True)}
    layout = model.padded_layout(lengths)
    with torch.inference_mode(), recorded(layers_of(model)) as found:
        logits = model(*tokens, layout)
    return found | {"logits": logits[0].numpy()}
