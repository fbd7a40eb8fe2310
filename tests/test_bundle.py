"""Cards: entries are added to their first list, and a bundle with another card is sound."""

from pathlib import Path

import pytest

from hark import bundle as bundling
from hark.bundle import Bundle, with_entry, write_card
from hark.errors import HarkError
from tests.decode.bundles import make_bundle

CARD = "# en to de\n\nGood.\n\n- Languages: en to de\n- Stored in: float32\n\n## Scores\n\n- BLEU: 30\n"


def test_an_entry_joins_the_first_list() -> None:
    card = with_entry(CARD, "- Licence: ours")
    assert card.splitlines()[4:8] == ["- Languages: en to de", "- Stored in: float32", "- Licence: ours", ""]
    assert card.endswith("## Scores\n\n- BLEU: 30\n")
    assert with_entry("# en to de", "- Licence: ours") == "# en to de\n\n- Licence: ours\n"


def test_an_entry_of_the_same_title_is_replaced() -> None:
    card = with_entry(CARD, "- Stored in: int8")
    assert "float32" not in card
    assert with_entry(card, "- Stored in: int8") == card
    assert with_entry(CARD, "- BLEU: 31").count("BLEU") == 2  # that of another list is none of ours


def test_another_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_bundle(tmp_path / "model")
    weights = (folder / "model.safetensors").read_bytes()
    write_card(Bundle.open(folder), CARD)
    bundle = Bundle.open(folder)
    assert bundle.card == CARD
    assert bundle.weights.read_bytes() == weights

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundling.manifest, "seal", refuse)
    with pytest.raises(HarkError, match=r"its card\.md cannot be written: No space left on device; it is as it was"):
        write_card(bundle, "# other")
    assert Bundle.open(folder).card == CARD
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
