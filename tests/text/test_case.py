"""Text in capitals: detected, lowercased and restored."""

import pytest

from hark.text.case import is_shouted, sentence_case, shout


@pytest.mark.parametrize(
    "text", ["THE CAT SEES A HOUSE", "WARNING!", "DIE STRASSE IST GLATT.", "MEETING OF THE EU (iv)"]
)
def test_shouted(text: str) -> None:
    assert is_shouted(text)


@pytest.mark.parametrize(
    "text", ["NATO", "UNESCO", "The EU and NATO agree", "McDONALD was here", "2014", "", "你好世界你好世界", "abc"]
)
def test_not_shouted(text: str) -> None:
    assert not is_shouted(text)


def test_kept_spans_are_ignored_and_unchanged() -> None:
    text = "SEE HTTP://A.B/C NOW, please_wait"
    keep = [(4, 16), (22, 33)]
    assert is_shouted("OPEN the_file_name NOW", [(5, 18)])
    assert not is_shouted("OPEN the_file_name NOW")
    lowered = sentence_case(text, keep)
    assert lowered.after == "See HTTP://A.B/C now, please_wait"
    assert shout(lowered.after, keep).after == text
    assert sentence_case("{A} IS HERE", [(0, 3)]).after == "{A} is here"


def test_positions_map_when_a_letter_becomes_two() -> None:
    shouted = shout("die Straße ist naß")
    assert shouted.after == "DIE STRASSE IST NASS"
    assert shouted.after[slice(*shouted.forth((4, 10)))] == "STRASSE"
    assert shouted.before[slice(*shouted.back((16, 20)))] == "naß"
