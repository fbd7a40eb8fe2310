"""Hark's side of a parity check: a bundle, run by hark's own engines, sentence by sentence as the model sees it."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

import hark
from hark.bundle import Bundle
from hark.config import DecodeConfig, ModelConfig
from hark.engine.ctranslate2 import ComputeType, CTranslate2Engine
from hark.engine.request import Request
from hark.exchange.parity import Ids, Side, recorded
from hark.facts import LanguagePair
from hark.machine import return_memory
from hark.text.opening import open_vocabularies
from hark.text.vocabulary import SpecialIds
from hark.weights import Array, WeightFile, Weights, as_floats

if TYPE_CHECKING:
    from hark.model import Transformer


LONGEST = 96
"""Target tokens of a sentence whose logits are compared. Only a model that does not end its translations has more, and
each takes as much memory as the vocabulary is large."""
AT_ONCE = 4
"""Sentences that are translated at once: CTranslate2 keeps the memory of the largest batch."""


def hark_side(
    bundle: Bundle,
    pair: LanguagePair | None = None,
    precision: ComputeType = "float32",
    weights: Weights | None = None,
) -> Side:
    """Hark's side for a language pair, by default the model's first. Logits and layers require torch and float32.

    weights: those of the bundle by default; pass others to compare with an export whose weights were rounded.
    """
    source_language, target_language = pair or bundle.facts.pairs[0]
    source, target = open_vocabularies(bundle)
    weights = WeightFile(bundle.weights) if weights is None else weights
    loaded = LazyEngine(weights, bundle.config.model, target.special, precision)
    prefix = target.prefix(target_language)

    def source_tokens(text: str) -> Ids:
        return source.source_ids(text, target_language, source_language)

    def translate(texts: Sequence[str], beam: int) -> list[str]:
        search = DecodeConfig(beam=beam, alpha=0.0, shortlist=False)
        requests = [Request(source_tokens(text), search, prefix) for text in texts]
        found: list[str] = []
        for first in range(0, len(requests), AT_ONCE):
            answers = dict(loaded.engine.run(requests[first : first + AT_ONCE]))
            found += [target.decode_one(answers[place][0].tokens) for place in range(len(answers))]
        return found

    def log_probs(source_ids: Ids, target_ids: Ids) -> Array:
        (found,) = loaded.engine.score([(source_ids, target_ids)])
        return np.array(found)

    side = Side(
        f"hark {hark.__version__}, {precision}",
        translate,
        source_tokens,
        lambda text: [*prefix, *target.encode_one(text)],
        log_probs=log_probs,
        release=loaded.release,
    )
    if precision != "float32" or find_spec("torch") is None:
        return side
    network = Network(weights, bundle.config.model, target.special.start)

    def release() -> None:
        loaded.release()
        network.release()

    return replace(side, logits=network.logits, layers=network.layers, release=release)


def fitting_side(bundle: Bundle) -> Side:
    """Hark's side, with targets of at most `LONGEST` tokens, and no more than the model has positions."""
    return fitted(hark_side(bundle), min(LONGEST, bundle.config.model.max_positions - 1))


def fitted(side: Side, most: int) -> Side:
    """A side with targets of at most so many tokens."""
    whole = side.target_tokens
    return side if whole is None else replace(side, target_tokens=lambda text: whole(text)[:most])


def fitting_texts(side: Side, texts: Sequence[str], config: ModelConfig) -> list[str]:
    """The texts for which a model has enough positions."""
    tokens = side.source_tokens
    return [text for text in texts if tokens is None or len(tokens(text)) <= config.max_positions]


class LazyEngine:
    """CTranslate2 with some weights, loaded at first use and after each release."""

    def __init__(self, weights: Weights, config: ModelConfig, special: SpecialIds, precision: ComputeType) -> None:
        self.settings = weights, config, special, precision

    @cached_property
    def engine(self) -> CTranslate2Engine:
        return CTranslate2Engine(*self.settings, threads=1, frugal=True, all_bits=True)

    def release(self) -> None:
        if (engine := self.__dict__.pop("engine", None)) is not None:
            engine.close()
            del engine
            return_memory()


class Network:
    """The torch model of some weights, built at first use and after each release."""

    def __init__(self, weights: Weights, config: ModelConfig, start: int) -> None:
        self.weights, self.config, self.start = weights, config, start

    @cached_property
    def model(self) -> "Transformer":
        import torch

        from hark.model.weights import build_model

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the arrays of a mapped file are read-only
            tensors = {name: torch.from_numpy(array) for name, array in as_floats(self.weights).items()}
        return build_model(self.config, tensors, "parity check", share=True)

    def release(self) -> None:
        if self.__dict__.pop("model", None) is not None:
            return_memory()

    def logits(self, source: Ids, target: Ids) -> Array:
        return self.run(source, target)["logits"]

    def layers(self, source: Ids, target: Ids) -> Mapping[str, Array]:
        found = self.run(source, target)
        del found["logits"]
        return found

    def run(self, source: Ids, target: Ids) -> dict[str, Array]:
        """Run one sentence pair; return the outputs of all layers, and the logits."""
        import torch

        from hark.model.layout import padded_layout

        model = self.model
        tokens = torch.tensor([source]), torch.tensor([[self.start, *target]])
        layout = padded_layout(*(torch.tensor([each.shape[1]]) for each in tokens))
        modules = {f"{name} layer {i}": layer for name, i, layer in each_layer(model)}
        modules |= {f"{name} norm": stack.norm for name, stack in each_stack(model) if stack.norm is not None}
        with torch.inference_mode(), recorded(modules) as found:
            logits = model(*tokens, layout)
        return found | {"logits": logits[0].numpy()}


def each_stack(model: "Transformer") -> list[tuple[str, Any]]:
    return [("encoder", model.encoder), ("decoder", model.decoder)]


def each_layer(model: "Transformer") -> list[tuple[str, int, Any]]:
    return [(name, i, layer) for name, stack in each_stack(model) for i, layer in enumerate(stack.layers, 1)]
