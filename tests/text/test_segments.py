"""Text layout: sentences and gaps join to the text, and gaps hold all that is not translated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.text.segments import TextLayout, lay_out
from hark.text.sentences import split_sentences


def english(text: str) -> list[str]:
    return split_sentences(text, "en")


@given(
    st.text(
        st.characters(blacklist_categories=["Cs"]) | st.sampled_from(" \n\r\t-*.)1\ufeff\u00a0\u2028[]#>"), max_size=40
    )
)
def test_layout_joins_to_the_text(text: str) -> None:
    layout = lay_out(text, english)
    assert layout.join() == text
    assert len(layout.gaps) == len(layout.sentences) + 1
    for sentence in layout.sentences:
        assert sentence == sentence.strip()
        assert sentence.splitlines() == [sentence]


@pytest.mark.parametrize(
    ("text", "gaps", "sentences"),
    [
        ("", [""], []),
        (" \n\n", [" \n\n"], []),
        ("One. Two.  \r\n", ["", " ", "  \r\n"], ["One.", "Two."]),
        ("\ufeffName\tAge\n", ["\ufeff", "\t", "\n"], ["Name", "Age"]),
        ("Name     Age", ["", "     ", ""], ["Name", "Age"]),
        ("one  two\u00a0three", ["", ""], ["one  two\u00a0three"]),
        ("  - [x] Wash up\n", ["  - [x] ", "\n"], ["Wash up"]),
        ("> > # Title", ["> > # ", ""], ["Title"]),
        ("12) Do it\n\tb) And that", ["12) ", "\n\tb) ", ""], ["Do it", "And that"]),
        ("1. Open the door. 2. Go.", ["", " ", " ", " ", ""], ["1.", "Open the door.", "2.", "Go."]),
        ("well-known - or not", ["", ""], ["well-known - or not"]),
        ("-5 degrees", ["", ""], ["-5 degrees"]),
    ],
)
def test_gaps_and_sentences(text: str, gaps: list[str], sentences: list[str]) -> None:
    assert lay_out(text, english) == TextLayout(tuple(gaps), tuple(sentences))


def test_a_german_date_is_not_a_list_item() -> None:
    layout = lay_out("3. Oktober", lambda text: [text])
    assert layout.sentences == ("3. Oktober",)


def test_join_replaces_sentences_by_translations() -> None:
    layout = lay_out(" - One. Two.\n\n", english)
    assert layout.join(["1", ""]) == " - 1 \n\n"
    with pytest.raises(ValueError, match="longer"):
        layout.join(["1"])


def test_translations_are_joined_as_their_scripts_need() -> None:
    text = "明天见。你呢？\n我很好。 谢谢！"
    layout = lay_out(text, lambda line: split_sentences(line, "zh"))
    assert layout.join() == text
    assert layout.join(["See you tomorrow.", "And you?", "I am fine.", "Thanks!"]) == (
        "See you tomorrow. And you?\nI am fine. Thanks!"
    )
    layout = lay_out("See you tomorrow. And you?\n\nI am fine. Thanks!", english)
    assert layout.join(["明天见。", "你呢？", "我很好。", "谢谢！"]) == "明天见。你呢？\n\n我很好。谢谢！"
