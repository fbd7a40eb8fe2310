"""Vectors are those of transformers, and independent of batch composition."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hark.errors import UserError
from hark.tasks import encoder as encoders
from hark.tasks.embed import embed
from hark.tasks.encoder import LoadedEncoder, batches
from hark.weights import Array
from tests.exchange.marian_models import SENTENCES
from tests.tasks.encoders import folders
from tests.translate.bundles import make_bundle

transformers = pytest.importorskip("transformers")
TEXTS = [*SENTENCES, "", "cat", "A cat. " * 7]


def vectors(folder: Path, texts: Sequence[str]) -> Array:
    return np.stack(list(embed(LoadedEncoder(folder, "cpu"), texts)))


def theirs(folder: Path, texts: Sequence[str]) -> Array:
    """The mean over the attention mask, as sentence-transformers computes it."""
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    inputs = tokenizer(list(texts), return_tensors="pt", padding=True, truncation=False)
    with torch.inference_mode():
        states_BTD = model(**inputs).last_hidden_state
    real_BT1 = inputs.attention_mask[:, :, None].float()
    means_BD = (states_BTD * real_BT1).sum(1) / real_BT1.sum(1)
    return torch.nn.functional.normalize(means_BD, dim=-1).numpy()


@pytest.mark.parametrize("kind", ["headless", "bert", "roberta"])
def test_vectors_are_those_of_transformers(kind: Any) -> None:
    original, bundle = folders(kind)
    np.testing.assert_allclose(vectors(bundle, TEXTS), theirs(original, TEXTS), atol=2e-6)


def test_vectors_are_independent_of_batch_composition(monkeypatch: pytest.MonkeyPatch) -> None:
    _, bundle = folders("headless")
    together = vectors(bundle, TEXTS)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    for number, text in enumerate(TEXTS):
        np.testing.assert_allclose(vectors(bundle, [text])[0], together[number], atol=1e-6)
    monkeypatch.setattr(encoders, "WINDOW", 3)
    monkeypatch.setattr(encoders, "BATCH_TOKENS", 20)
    np.testing.assert_allclose(vectors(bundle, TEXTS), together, atol=1e-6)


def test_batches_have_texts_of_similar_length() -> None:
    lengths = [5_000, 10, 4_000, 20, 3_000]
    assert list(batches(lengths)) == [[0], [2, 4, 3, 1]]
    assert list(batches([])) == []


def test_a_long_text_is_refused_or_cut() -> None:
    _, bundle = folders("headless")
    encoder = LoadedEncoder(bundle, "cpu")
    with pytest.raises(UserError, match=r"text 2 has 80 tokens, but .* reads at most 62; split it"):
        list(embed(encoder, ["cat", "cat " * 80]))
    (cut,), (whole,) = embed(encoder, ["cat " * 80], truncate=True), embed(encoder, ["cat " * 62])
    np.testing.assert_allclose(cut, whole, atol=1e-6)


def test_a_model_that_translates_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not an encoder alone: it translates; use hark translate"):
        LoadedEncoder(make_bundle(tmp_path / "en-de"))
