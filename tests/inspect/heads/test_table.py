"""Stored alignment heads: the bundle stays valid, and both engines align with them."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hark import bundle as bundling
from hark.bundle import Bundle
from hark.engine.interface import AlignmentHeads, Request
from hark.engine.opening import EngineName
from hark.facts import AlignmentFacts
from hark.facts import AlignmentStep as Step
from hark.inspect.attention import Head
from hark.inspect.heads.alignment import Combination
from hark.inspect.heads.table import store
from hark.text.tokenizer import EOS
from hark.translate.load import Loaded
from tests.translate.bundles import make_bundle

TEXTS = ["the cat sees a small red house.", "we have been here before", "an old tree, and it is not red!", "committee"]


def best(step: Step, *heads: tuple[int, int]) -> Combination:
    return Combination(step, tuple(Head("cross", layer, number) for layer, number in heads), 0.27, 0.28)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_bundle(tmp_path / "model", "en", "de", "model.n_decoder_layers=3", "model.n_heads=4")


def test_facts_and_card_change_and_nothing_else(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    stored = store(Bundle.open(folder), best("reads", (1, 0), (1, 3)), 508, "gold")
    bundle = Bundle.open(folder)  # verifies it
    assert bundle.facts.alignment == stored == AlignmentFacts(1, (0, 3), "reads", 0.27, 508, "gold")
    line = "- Alignment heads: 2:1, 2:4, at the step that reads a word; alignment error rate 0.270 on 508 pairs of gold"
    assert line in bundle.card.splitlines()
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {name for name in after if after[name] != before[name]} == {"card.md", "facts.json", "manifest.json"}
    assert set(after) == set(before)
    store(bundle, best("predicts", (2, 2)), 508, "gold")
    again = Bundle.open(folder)
    found = AlignmentHeads.of_facts(again.facts.alignment, bundle.config.model)
    assert found == AlignmentHeads(2, (2,))
    assert again.card.count("Alignment heads") == 1
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_without_hard_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(bundling.os, "link", refuse)
    store(Bundle.open(folder), best("reads", (1, 0)), 1, "gold")
    assert Bundle.open(folder).facts.alignment == AlignmentFacts(1, (0,), "reads", 0.27, 1, "gold")


def test_a_failure_keeps_the_old_bundle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bundling.manifest, "seal", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store(Bundle.open(folder), best("reads", (1, 0)), 1, "gold")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("heads", [best("predicts", (2, 0), (2, 3)), best("reads", (1, 2), (1, 0))])
def test_both_engines_align_with_the_stored_heads(heads: Combination, folder: Path) -> None:
    before = attentions(open_model(folder, "torch"))
    store(Bundle.open(folder), heads, 508, "gold")
    ours, theirs = open_model(folder, "torch"), open_model(folder, "ctranslate2")
    for one, other, default in zip(attentions(ours), attentions(theirs), before, strict=True):
        assert len(one) > 5
        np.testing.assert_allclose(one, other, atol=1e-5)
        assert np.abs(one - default).max() > 1e-3
    found = links(ours)
    assert found == links(theirs)
    assert all(found)


def open_model(folder: Path, engine: EngineName) -> Loaded:
    return Loaded(folder, engine, "cpu", "float32", threads=1)


def attentions(loaded: Loaded) -> list[NDArray[np.float32]]:
    sources = [[*loaded.source_vocabulary.encode_one(text), EOS] for text in TEXTS]
    answers = dict(loaded.engine.run([Request(each, loaded.config.decode, attention=True) for each in sources]))
    return [answers[number][0].attention_TS for number in range(len(TEXTS))]  # type: ignore[misc]


def links(loaded: Loaded) -> list[list[tuple[int, int]]]:
    translations = loaded.translate(TEXTS[:2], align=True, split=False, protect=False)
    return [[(link.source, link.target) for link in each.links] for each in translations]  # type: ignore[misc]
