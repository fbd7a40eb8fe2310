"""Comparison of an encoder alone with the same model in transformers: tokens, hidden states, and logits if it has any.

Logits are those of every position, whatever stands there: no text needs gaps to be compared.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import hark
from hark.bundle import Bundle
from hark.config import ModelConfig
from hark.exchange.hark_side import fitting_texts, text_side
from hark.exchange.parity import BOUND, HELD, Ids, Lazy, Side, compare_texts, recorded
from hark.exchange.transformers_side import LazyModel
from hark.facts import ParityProof
from hark.text.opening import open_vocabularies
from hark.weights import Array

if TYPE_CHECKING:
    from torch import Tensor


def compare_encoders(
    bundle: Bundle, theirs: Side, sentences: Sequence[str], *, what: str, held: int = HELD, bound: float = BOUND
) -> ParityProof:
    """Compare a bundle with the model that it was made from, or that was made from it."""
    ours, config = hark_encoder(bundle), bundle.config.model
    texts = fitting_texts(ours, sentences, config)
    proof = compare_texts(ours, theirs, texts, bound=bound, what=what, held=held)
    return proof if config.prediction_layer or config.labels else replace(proof, quantity="hidden states")


def hark_encoder(bundle: Bundle) -> Side:
    """Hark's side."""
    from hark.model.weights import load_one_stack

    vocabulary, loaded = open_vocabularies(bundle)[1], Lazy(lambda: load_one_stack(bundle))

    def run(source: Ids) -> dict[str, Array]:
        import torch

        model, tokens_BT = loaded.model, torch.tensor([source])
        layout = model.padded_layout({"target": torch.tensor([len(source)])})
        with torch.inference_mode(), recorded(numbered(model.stack.layers)) as found:
            states = model.states(tokens_BT, layout)
            logits = None if model.prediction is None else model.logits(model.predicting(states))
        if logits is not None and model.config.labels == "text":
            logits = logits[:, :1]
        return found | {"logits": joined(states, logits)}

    def tokens(text: str) -> Ids:
        return vocabulary.enclose(vocabulary.encode_one(text))

    return text_side(f"hark {hark.__version__}, float32", tokens, run, loaded.release)


def transformers_encoder(folder: Path, config: ModelConfig) -> Side:
    """Transformers' side, of a folder."""
    has_head = config.prediction_layer or config.labels is not None
    loaded = LazyModel(folder, loader_of(config))

    def run(source: Ids) -> dict[str, Array]:
        import torch

        model = loaded.model
        with torch.inference_mode(), recorded(numbered(model.base_model.encoder.layer)) as found:
            output = model(input_ids=torch.tensor([list(source)]), output_hidden_states=True)
        logits = output.logits if has_head else None
        if logits is not None and config.labels == "text":
            logits = logits[:, None]  # they have no axis of positions
        return found | {"logits": joined(output.hidden_states[-1], logits)}

    def tokens(text: str) -> Ids:
        # Some folders have a tokenizer that pads or cuts texts.
        ids: list[int] = loaded.tokenizer(text, padding=False, truncation=False).input_ids
        return ids

    return text_side(f"transformers {version('transformers')}, float32", tokens, run, loaded.release)


def loader_of(config: ModelConfig) -> str:
    """The class of transformers that loads a model with its head."""
    match config.labels:
        case "text":
            return "AutoModelForSequenceClassification"
        case "words":
            return "AutoModelForTokenClassification"
        case None:
            return "AutoModelForMaskedLM" if config.prediction_layer else "AutoModel"


def numbered(layers: Iterable[Any]) -> dict[str, Any]:
    return {f"layer {i}": layer for i, layer in enumerate(layers, 1)}


def joined(states: "Tensor", logits: "Tensor | None") -> Array:
    """Hidden states and logits side by side, so that both are compared. The only logits of a text stand beside each
    state."""
    parts = (states, None if logits is None else logits.expand(-1, states.shape[1], -1))
    return np.concatenate([part[0].float().numpy() for part in parts if part is not None], axis=-1)
