"""Bundles: changing their facts, verification, and the card."""

import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from hark import bundle as bundling
from hark.bundle import Bundle, write_facts
from hark.errors import HarkError, HarkWarning, UserError
from hark.facts import MINOR, load_facts
from hark.translate.load import Loaded
from tests.translate.bundles import make_bundle


def test_facts_are_written_atomically_with_the_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_bundle(tmp_path / "model")
    before = Bundle.open(folder)
    weights = before.weights.read_bytes()
    facts = replace(before.facts, title="Ours", licence="CC0")
    write_facts(before, facts)
    bundle = Bundle.open(folder)  # which verifies it
    assert bundle.facts == facts
    assert bundle.card.startswith("# Ours\n\nFor tests.\n\n- Languages: en to de\n")
    assert "- Licence: CC0\n" in bundle.card
    assert bundle.weights.read_bytes() == weights

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundling.manifest, "seal", refuse)
    with pytest.raises(
        HarkError, match=r"cannot write facts\.json, card\.md: No space left .*; the bundle is unchanged"
    ):
        write_facts(bundle, replace(facts, title="Theirs"))
    assert Bundle.open(folder).facts == facts
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_new_facts_do_not_bless_damaged_weights(tmp_path: Path) -> None:
    bundle = Bundle.open(make_bundle(tmp_path / "model"))
    with bundle.weights.open("r+b") as file:
        file.seek(-1, 2)
        file.write(bytes([bundle.weights.read_bytes()[-1] ^ 1]))
    write_facts(bundle, replace(bundle.facts, title="Ours"))
    with pytest.raises(UserError, match=r"model\.safetensors: damaged or modified: wrong sha256"):
        Bundle.open(bundle.folder)


def test_an_error_in_the_facts_names_file_and_key(tmp_path: Path) -> None:
    folder = make_bundle(tmp_path / "model")
    tree = (folder / "facts.json").read_text()
    (folder / "facts.json").write_text(tree.replace('"summary"', '"sumary"'))
    bundling.manifest.seal(folder, bundling.KIND, bundling.FORMAT)
    with pytest.raises(UserError, match=r"model/facts\.json: sumary: no such fact"):
        Bundle.open(folder)


def test_the_vocabulary_files_are_listed(tmp_path: Path) -> None:
    bundle = Bundle.open(make_bundle(tmp_path / "model"))
    assert list(bundle.vocabulary_files) == ["tokenizer.model"]


def test_facts_from_a_newer_hark_are_not_overwritten(tmp_path: Path) -> None:
    folder = make_bundle(tmp_path / "model")
    newer = (folder / "facts.json").read_text().replace(f'"minor": {MINOR}', f'"minor": {MINOR + 1}, "colour": "red"')
    (folder / "facts.json").write_text(newer)
    bundling.manifest.seal(folder, bundling.KIND, bundling.FORMAT)
    bundle = Bundle.open(folder)
    assert bundle.facts.summary == "For tests."
    with pytest.raises(UserError, match=r"are from a newer hark .*; update hark to change this model"):
        write_facts(bundle, bundle.facts)
    assert load_facts(folder / "facts.json").minor == MINOR + 1


def test_an_edited_or_missing_card_causes_only_a_warning(tmp_path: Path) -> None:
    folder = make_bundle(tmp_path / "model")
    sound = Bundle.open(folder)
    (folder / "card.md").write_text("# Mine\n")
    with pytest.warns(HarkWarning, match=r"model/card\.md: modified or missing; the model itself is intact"):
        edited = Bundle.open(folder)
    assert (edited.card, edited.facts) == ("# Mine\n", sound.facts)
    (folder / "card.md").unlink()
    with pytest.warns(HarkWarning, match="modified or missing"):
        lost = Bundle.open(folder)
    assert "- Languages: en to de\n" in lost.card
    write_facts(lost, sound.facts)  # also writes the card
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Bundle.open(folder).card
    (folder / "tokenizer.model").write_bytes(b"x")
    with pytest.raises(UserError, match=r"tokenizer\.model: damaged: 1 bytes, expected "):
        Bundle.open(folder)


def test_weights_that_are_hashed_meanwhile_are_refused_all_the_same(tmp_path: Path) -> None:
    folder = make_bundle(tmp_path / "model")
    with Bundle.open(folder, wait=False).unconfirmed_weights() as path:
        assert path == folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    damaged = Bundle.open(folder, wait=False)
    with (
        pytest.raises(UserError, match=r"model\.safetensors: damaged or modified: wrong sha256"),
        damaged.unconfirmed_weights(),
    ):
        raise ValueError("what a reader says of the damaged file")
    with pytest.raises(UserError, match="wrong sha256"):
        _ = damaged.weights
    with pytest.raises(UserError, match="wrong sha256"):
        Bundle.open(folder)


def test_a_damaged_model_translates_nothing(tmp_path: Path) -> None:
    folder = make_bundle(tmp_path / "model")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    loaded = Loaded(folder, engine="ctranslate2")
    with pytest.raises(UserError, match=r"model\.safetensors: damaged or modified: wrong sha256"):
        loaded.translate("house")
