"""Bundles older than facts.json still open; `golden/old-bundle` has the original card and settings of one."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from hark import configfile, manifest
from hark.bundle import FORMAT, KIND, Bundle, write_facts
from hark.engine.alignment_heads import AlignmentHeads
from hark.errors import HarkWarning
from hark.facts import AlignmentFacts, Facts, ParentModel, TextFacts
from hark.model import Transformer
from hark.models import describe_model
from hark.old_card import alignment_heads, read_card
from hark.translate.load import Loaded
from hark.weights import shrink
from tests.translate.stub import tokenizer

OLD = Path(__file__).parent / "golden" / "old-bundle"
HEADS = AlignmentFacts(0, (0, 1, 2, 3, 4), "predicts", 0.362, 508, "alignment-de-en")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The old bundle with a small vocabulary and small weights."""
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "card.md").write_bytes((OLD / "card.md").read_bytes())
    (folder / "config.toml").write_text((OLD / "config.toml").read_text().replace("16000", "700"))
    (folder / "tokenizer.model").write_bytes(tokenizer().model)
    torch.manual_seed(3)
    model = Transformer(configfile.load(folder / "config.toml").model)
    save_file(
        {name: weight.detach().clone() for name, weight in model.named_parameters()}, folder / "model.safetensors"
    )
    manifest.seal(folder, KIND, FORMAT)
    return folder


def test_an_old_bundle_opens_and_translates(old: Path) -> None:
    loaded = Loaded(old, "ctranslate2", "cpu")
    assert loaded.translate("the cat").text
    assert loaded.facts.pairs == (("en", "de"),)
    assert AlignmentHeads.of_facts(loaded.facts.alignment, loaded.config.model) == AlignmentHeads(0, (0, 1, 2, 3, 4))
    known = describe_model(old)
    assert (known.pairs, known.problem) == ((("en", "de"),), "")
    assert known.summary.startswith("Small and quick: BLEU 25.9 (europarl-test)")


def test_an_old_bundle_without_its_card_still_translates(old: Path) -> None:
    (old / "card.md").unlink()
    with pytest.warns(HarkWarning, match="modified or missing"):
        loaded = Loaded(old, "ctranslate2", "cpu")
    assert loaded.translate("the cat").text
    assert loaded.facts.pairs == (("en", "de"),)


def test_facts_are_parsed_from_the_card() -> None:
    facts = read_card((OLD / "card.md").read_text(), configfile.load(OLD / "config.toml"))
    assert facts.title == "English to German"
    assert facts.text == (TextFacts("europarl"), TextFacts("tatoeba"), TextFacts("tatoeba-original"))
    assert facts.alignment == HEADS
    assert (facts.making.weights, facts.making.storage) == ("step 29000, the last", "int8")
    assert facts.licence.startswith("Apache-2.0")
    assert facts.vocabulary.language_tags == "none"


def test_any_change_adds_a_facts_file(old: Path, tmp_path: Path) -> None:
    bundle = Bundle.open(old)
    shrink(bundle, tmp_path / "small", "int8")
    write_facts(bundle, bundle.facts)
    for folder in (old, tmp_path / "small"):
        assert (folder / "facts.json").is_file()
        again = Bundle.open(folder)
        assert (again.facts.pairs, again.facts.alignment, again.facts.text) == (
            bundle.facts.pairs,
            HEADS,
            bundle.facts.text,
        )
    assert np.isfinite(next(iter(Loaded(tmp_path / "small").score([("the cat", "Die Katze")]))))


def test_cards_written_by_training_are_parsed() -> None:
    config = configfile.load(None)
    card = "# en to de\n\nMade.\n\n- Languages: en to de\n- Trained on: mine, starting from first\n- Scores: none\n"
    facts = read_card(card, config)
    assert facts.text == (TextFacts("mine"),)
    assert facts.making.parents == (ParentModel("start", "first"),)
    assert facts.alignment is None
    assert read_card("", config) == Facts(pairs=(("en", "de"),))


@pytest.mark.parametrize(
    "entry",
    [
        "0:1, at the step that reads a word",
        "1:1, 2:1, at the step that reads a word",
        "1:1, at some step",
        "the best ones",
        "",
    ],
)
def test_invalid_alignment_heads_are_none(entry: str) -> None:
    assert alignment_heads(entry) is None
    assert alignment_heads("4:2, 4:7, at the step that reads a word; x") == AlignmentFacts(3, (1, 6), "reads")
