"""Spaces between translated sentences, and lengths, in scripts with and without spaces."""

import pytest

from hark.text.scripts import gap_between, letters


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
