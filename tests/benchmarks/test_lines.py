"""Each condition of a line accepts a good answer and rejects a bad one."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from benchmarks.lines import Line, has_warning, has_word, read_lines  # type: ignore[import-not-found]

TEXT = "See https://a.b/c?d\n> x | y | z"


@pytest.mark.parametrize(
    ("line", "good", "bad"),
    [
        ({"has": ("wo|wohin", "bahnhof*")}, "Wo sind Bahnhöfe? Am BAHNHOFSPLATZ", "Wo ist der Hauptbahnhof?"),
        ({"has": ("*bahnhof",)}, "Am Hauptbahnhof", "Am Bahnhofsplatz"),
        ({"has": ("*rühr*",)}, "unter Umrühren", "unter Aufruhr"),
        ({"has": ("guten tag",)}, "Guten\nTag!", "Guten Tagen"),
        ({"has": ("don't",)}, "I don’t", "I do not"),
        ({"has": ("7,4 %",)}, "um 7,4\u00a0%.", "um 17,4 %"),
        ({"has": ("3", "1.250")}, "Am 3. Mai: 1.250", "Am 13. Mai: 1.250"),
        ({"lacks": ("gift|poison*",)}, "Geschenk, giftig", "Das ist Gift."),
        ({"keeps": ("https://a.b/c?d",)}, "Siehe https://a.b/c?d.", "Siehe https://a.b/C?d."),
        ({"keeps": ("|",)}, "a | b | c", "a | b c"),
        ({"same": True}, TEXT, f"{TEXT} "),
        ({"like": "x"}, "ES IST\nHEISS", "Es ist kalt."),
        ({"like": "x", "correct": ["Heiß ist es."]}, "heiß ist es", "Es ist es heiß."),
        ({"capitals": True}, "NEIN!", "Nein!"),
        ({"lines": 2}, "eins\nzwei", "eins zwei"),
        ({"paragraphs": 2}, "eins\nzwei\n\n\ndrei", "eins\nzwei\ndrei"),
        ({"starts": "> "}, "> eins\n> zwei", "> eins\nzwei"),
        ({"columns": 12}, "eins zwei\nDonaudampfschiff", "eins zwei drei"),
        ({"starts": "> ", "columns": 12}, "> Donaudampfschiff", "> eins zwei drei"),
        ({"words": [2, 3]}, "eins zwei drei", "eins"),
        ({"words": [2, 3]}, "eins zwei", "eins zwei drei vier"),
    ],
)
def test_conditions(line: dict[str, Any], good: str, bad: str) -> None:
    asked = Line.of({"text": TEXT, **line})
    assert asked.wrong(good, "Es ist heiß!") == ""
    assert asked.wrong(bad, "Es ist heiß!") != ""


def test_a_star_allows_words_to_continue() -> None:
    assert has_word("Zwiebeln", "zwiebel*")
    assert not has_word("Zwiebeln", "zwiebel")
    assert not has_word("Zwiebeln", "*beln*x")


def test_a_file_with_an_unknown_condition_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "some.toml"
    file.write_text('people = ["Zoë"]\n[en-de]\nwords = [{ text = "house", hass = ["haus"] }]\n', encoding="utf-8")
    with pytest.raises(TypeError, match="hass"):
        read_lines(file, "en-de")
    with pytest.raises(ValueError, match="flagged must be may or must, not yes"):
        Line("house", flagged="yes")


@pytest.mark.parametrize(
    ("flags", "doubtful", "expected"),
    [
        ((), (), False),
        (("retried", "repaired"), (), False),
        (("untranslated",), (), True),
        (("looped",), ("looped",), True),
    ],
)
def test_which_flags_are_warnings(flags: tuple[str, ...], doubtful: tuple[str, ...], expected: bool) -> None:
    assert has_warning(SimpleNamespace(flags=flags, doubtful=doubtful)) is expected
