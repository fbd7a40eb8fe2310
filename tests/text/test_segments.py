"""Text layout: sentences and gaps join to the text, and gaps hold all that is not translated."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.errors import HarkError
from hark.text import segments
from hark.text.segments import (
    SPLIT_WINDOW,
    TextLayout,
    best_place,
    bounded,
    cut,
    gap_between,
    is_unbroken,
    join_across,
    lay_out,
    letters,
    segment,
    set_apart,
    split_sentences,
)


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


@given(st.text(max_size=60), st.sampled_from(["en", "de", "fr", "zh", "xx", "", "pt-BR"]))
def test_pieces_join_to_the_text(text: str, language: str) -> None:
    assert "".join(split_sentences(text, language)) == text


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["Dr. Smith went to Washington. ", "He arrived at 3.5 p.m. on Monday!  ", "Really?"]),
        ("de", ["Am 3. Oktober ist z. B. Feiertag. ", "Das gilt überall."]),
        ("zh", ["你好。", "世界！"]),
        ("en", [""]),
    ],
)
def test_sentences(language: str, sentences: list[str]) -> None:
    assert split_sentences("".join(sentences), language) == [each for each in sentences if each]


def test_a_no_break_space_after_an_initial(capfd: pytest.CaptureFixture[str]) -> None:
    """Sentencex itself panics here, on stderr."""
    text = "J.\u00a0S. Bach war da. Er\u202fging."
    assert split_sentences(text, "en") == ["J.\u00a0S. Bach war da. ", "Er\u202fging."]
    assert capfd.readouterr().err == ""


def test_lone_surrogates_are_kept() -> None:
    assert split_sentences("One \ud83d. Two.", "en") == ["One \ud83d. ", "Two."]


def test_a_lossy_split_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    import sentencex

    monkeypatch.setattr(sentencex, "segment", lambda _language, text: [text[:3]])
    assert split_sentences("One. Two.", "en") == ["One. Two."]


def test_missing_sentencex_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(HarkError, match="pip install sentencex"):
        split_sentences("One. Two.", "en")


def test_join_across_rejoins_spans() -> None:
    pieces = ["See {a. ", "B} now. ", "Go. ", "On."]
    assert join_across(pieces, [(4, 10)]) == ["See {a. B} now. ", "Go. ", "On."]
    assert join_across(pieces, [(0, 8)]) == pieces  # a boundary at the edge of a span does not split it
    assert join_across(pieces, []) == pieces


@pytest.mark.parametrize("end", [". ", "! ", '." ', "\u3002"])
def test_a_long_text_is_split_like_a_short_one(end: str) -> None:
    sentences = [f"Mr. Smith of sentence {number} goes home, and then nobody knows{end}" for number in range(400)]
    text = "".join(sentences)
    assert len(text) > 4 * SPLIT_WINDOW
    assert split_sentences(text, "en") == segment(text, "en")


@pytest.mark.parametrize("unit", ["word ", "x", "\u4e2d", ". ", "<!--", "  \u200b"])
def test_text_without_sentences_is_cut_into_windows(unit: str) -> None:
    text = unit * (20_000 // len(unit))
    pieces = split_sentences(text, "en")
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= SPLIT_WINDOW
    if unit == "word ":
        assert all(piece.endswith(" ") for piece in pieces)


def shorter_than(length: int):
    return lambda text: len(text) <= length


@given(st.text("ab,; ", max_size=80), st.integers(3, 20))
def test_parts_join_to_the_text_and_fit(text: str, length: int) -> None:
    parts = cut(text, shorter_than(length))
    assert "".join(parts) == text
    assert len(parts) % 2 == 1
    assert all(gap.isspace() or not gap for gap in parts[1::2])
    assert all(len(part) <= length for part in parts[::2])


def test_a_word_of_5000_letters() -> None:
    parts = cut("x" * 5000, shorter_than(60))
    assert "".join(parts) == "x" * 5000
    assert all(30 <= len(part) <= 60 for part in parts[::2])


def test_the_best_kind_of_cut_is_preferred() -> None:
    text = "we came in the morning; they, and the others, went home and slept"
    assert cut(text, shorter_than(60)) == ["we came in the morning;", " ", "they, and the others, went home and slept"]
    assert cut("the old man saw that the young one slept", shorter_than(30))[0] == "the old man saw"
    assert cut("one two three four", shorter_than(12)) == ["one two", " ", "three four"]


def test_a_cut_far_from_the_middle_is_ignored() -> None:
    assert best_place("so, one two three four five six seven eight") != (3, 4)


def test_kept_spans_stay_whole() -> None:
    text = "see <a href='x, y; z'> and more words here"
    parts = cut(text, shorter_than(12), [(4, 22)])
    assert "<a href='x, y; z'>" in parts
    assert "".join(parts) == text
    assert cut("{long_name}", shorter_than(3), [(0, 11)]) == ["{long_name}"]


def test_letters_keep_their_accents() -> None:
    for part in cut("e\u0301" * 50, shorter_than(9))[::2]:
        assert not part.startswith("\u0301")


@given(st.text("ab,; ", min_size=0, max_size=200), st.integers(3, 20), st.integers(10, 40))
def test_windows_are_lossless(text: str, length: int, window: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "WINDOW", window)
        parts = cut(text, shorter_than(length))
        assert "".join(bounded(text)) == text
        assert all(len(part) <= window for part in bounded(text))
    assert "".join(parts) == text
    assert len(parts) % 2 == 1
    assert all(gap.isspace() or not gap for gap in parts[1::2])
    assert all(len(part) <= length for part in parts[::2])


def test_kept_spans_stay_whole_across_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "WINDOW", 20)
    text = "some words <a b c d e f g h i j k l m n o p q> and more words, {x y z} and more"
    keep = [(text.index("<"), text.index(">") + 1), (text.index("{"), text.index("}") + 1)]
    parts = cut(text, shorter_than(8), keep)
    assert "".join(parts) == text
    assert [text[slice(*span)] in parts for span in keep] == [True, True]


class Counted:
    """Counts the characters it is called with."""

    def __init__(self) -> None:
        self.characters = 0

    def __call__(self, text: str) -> bool:
        self.characters += len(text)
        return len(text) <= 500


@pytest.mark.parametrize(
    ("unit", "number"), [("x", 40_000), ("word ", 8_000), ("word, ", 7_000), ("a" + 9000 * " ", 5)]
)
def test_work_is_linear_in_the_length(unit: str, number: int) -> None:
    asked = []
    for text in (unit * number, unit * 4 * number):
        fits = Counted()
        assert "".join(cut(text, fits)) == text
        asked.append(fits.characters)
    assert asked[1] < 4.5 * asked[0]


def test_unbroken_runs_are_set_apart() -> None:
    blob = "QUJD/+" * 2000
    text = f"Before it {blob} and after."
    assert set_apart(text) == ["Before it ", blob, " and after."]
    assert [is_unbroken(part) for part in set_apart(text)] == [False, True, False]
    assert set_apart(blob) == [blob]
    assert set_apart("x" * 5000) == ["x" * 5000]
    assert not is_unbroken("x" * 5000)
    chinese = "\u4e2d\u6587" * 20_000  # a script without spaces
    assert set_apart(chinese) == [chinese]
    assert not is_unbroken(chinese)


@pytest.mark.parametrize(
    ("before", "after", "gap", "expected"),
    [
        # Chinese, Japanese to a language with spaces
        (("明天见。", "你呢？"), ("See you tomorrow.", "And you?"), "", " "),
        (("好！", "行。"), ("Хорошо!", "Ладно."), "", " "),
        (("今日は晴れです。", "散歩に行く。"), ("오늘은 맑습니다.", "산책하러 갑니다."), "", " "),
        (("我有3本。", "12点见"), ("I have 3.", "12 o'clock."), "", " "),
        (("我买了iPhone。", "OK吗？"), ("I bought an iPhone.", "OK?"), "", " "),
        (("他说：“好。”", "然后走了。"), ('He said "good."', "Then he left."), "", " "),
        # Thai, cut without a space, has none between words
        (("ผมไป", "ตลาด"), ("I go to", "the market"), "", " "),
        (("明天见。", "你呢？"), ("เจอกันพรุ่งนี้", "แล้วคุณล่ะ"), "", " "),
        # to Chinese and Japanese
        (("See you tomorrow.", "And you?"), ("明天见。", "你呢？"), " ", ""),
        (("See you tomorrow.", "And you?"), ("明日また。", "君は？"), "  ", ""),
        (("I bought an iPhone.", "OK?"), ("我买了iPhone。", "OK吗？"), " ", ""),
        (("พรุ่งนี้เจอกัน", "แล้วคุณล่ะ"), ("明天见", "你呢"), " ", ""),
        # between two such languages, and where the source has white space of its own
        (("明天见。", "你呢？"), ("明日また。", "君は？"), "", ""),
        (("明天见。", "你呢？"), ("明日また。", "君は？"), " ", " "),
        (("明天见。", "你呢？"), ("See you tomorrow.", "And you?"), " ", " "),
        (("See you.", "And you?"), ("明天见。", "你呢？"), "\n", "\n"),
        (("See you.", "And you?"), ("明天见。", "你呢？"), "\t", "\t"),
        (("See you.", "And you?"), ("明天见。", "你呢？"), "\u3000", "\u3000"),
        # copied text, and languages that both have spaces
        (("明天见。", "你呢？"), ("明天见。", "你呢？"), "", ""),
        (("a/", "b"), ("a/", "b"), "", ""),
        (("See you.", "And you?"), ("Bis morgen.", "Und du?"), " ", " "),
        (("See you.", "It is 你好."), ("Bis morgen.", "你好 heißt das."), " ", " "),
        (("만나요.", "그래요?"), ("See you.", "And you?"), " ", " "),
        (("明天见。", "你呢？"), ("", "And you?"), "", ""),
    ],
)
def test_gap_between(before: tuple[str, str], after: tuple[str, str], gap: str, expected: str) -> None:
    assert gap_between(before, after, gap) == expected


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", 0),
        ("hello", 5),
        ("größer", 6),
        ("привет", 6),
        ("你好。", 7),
        ("ありがとう", 10),
        ("한국", 4),
        ("ตลาด", 4),
        ("a你", 4),
    ],
)
def test_letters(text: str, length: int) -> None:
    assert letters(text) == length
