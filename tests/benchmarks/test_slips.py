"""How slips change a text, and the whole benchmark with an untrained model."""

import random
from pathlib import Path

from hark.evaluate.held_out import HeldOutSet
from hark.text.spelling import tidy
from hark.translate.load import Loaded
from tests.translate.bundles import make_bundle


def test_slips() -> None:
    from benchmarks.slips import drop_apostrophes, drop_umlauts, hold_a_letter, type_accents  # type: ignore[import-not-found]

    rng = random.Random(1)
    assert drop_apostrophes("'Don't', Tom's", rng) == "'Dont', Toms"
    assert drop_umlauts("Übergröße, ÄRGER", rng) == "Uebergroesse, AeRGER"
    assert set(type_accents("don't " * 30, rng)) - set("dont ") == set("´`’")
    held = {hold_a_letter("I run.", rng) for _ in range(200)}
    assert {len(text) - len("I run.") for text in held} == {2, 3, 4, 5}
    assert all(text.startswith("I ") for text in held)  # a word of one letter is unchanged
    assert hold_a_letter("1 + 1", rng) == "1 + 1"


def test_measuring_an_untrained_model(tmp_path: Path) -> None:
    from benchmarks.slips import SLIPS, measure, table

    model = Loaded(make_bundle(tmp_path / "small"), threads=1)
    held_out = HeldOutSet("two", ("I don't run.", "We see Tom's cat."), ("Ich renne nicht.", "Wir sehen Toms Katze."))
    outcomes = measure(model, held_out)
    assert [each.slip for each in outcomes] == list(SLIPS["en"])
    apostrophes = outcomes[0]
    assert (apostrophes.sentences, apostrophes.restored) == (2, 1)  # "Toms" is ambiguous
    assert outcomes[1].restored == 2
    assert outcomes[1].tidied == outcomes[1].plain
    lines = list(table("two", outcomes))
    assert any("no apostrophes" in line and "50%" in line for line in lines)


def test_touched_lists_the_changed_sentences(tmp_path: Path) -> None:
    from benchmarks.slips import touched

    file = tmp_path / "plain.en"
    file.write_text("Nothing here.\nI dont know.\n", encoding="utf-8")
    assert list(touched("en", [file])) == ["  dont -> don't   in: I dont know.", "plain.en: 1 of 2 sentences touched"]
    assert tidy("Nothing here.", "en") is None
