"""Paragraphs of formatted runs are divided into texts and written with their translations."""

from hark.documents.formats import SegmentTranslation
from hark.documents.markup import MAX_TAGS
from hark.documents.paragraph_piece import Half, Item, Kept, ParagraphText, TextFormat, TextRun, Wrap, emit, pair_halves
from hark.translate.align import Link
from tests.documents.office import backwards, shout


def style(name: str) -> TextFormat:
    return TextFormat((name,), f"[{name}:", "]")


def plain(text: str) -> TextRun:
    return TextRun(text, style("p"))


def bold(text: str) -> TextRun:
    return TextRun(text, style("b"))


def half(key: str, opens: bool) -> Half:
    return Half(f"<{'' if opens else '/'}{key}>", key=key, opens=opens)


def translate(*items: Item, by: object = shout) -> str | None:
    text = ParagraphText(0, 0, items)
    assert callable(by)
    return text.fill([by(each) for each in text.segments])


def test_equal_formats_are_one_run_also_around_marks() -> None:
    assert translate(bold("one"), Kept("<n>"), bold(" two"), plain(" and three more")) == (
        "[b:ONE]<n>[b: TWO][p: AND THREE MORE]"
    )
    assert translate(bold("o"), bold("ne"), plain(" and two more")) == "[b:ONE][p: AND TWO MORE]"


def test_nothing_changes_without_a_change() -> None:
    text = ParagraphText(0, 0, [plain("one"), Kept("<tab>", splits=True), plain("two")])
    assert text.fill([SegmentTranslation("one"), SegmentTranslation("two")]) is None
    assert text.fill([SegmentTranslation("one"), SegmentTranslation("zwei")]) == "[p:one]<tab>[p:zwei]"


def test_a_wrap_with_a_tab_divides_the_sentence() -> None:
    text = ParagraphText(0, 0, [plain("a"), Wrap("<a>", "</a>", [plain("b"), Kept("<tab>", splits=True), plain("c")])])
    assert [each.text for each in text.segments] == ["a", "b", "c"]
    assert text.fill([shout(each) for each in text.segments]) == "[p:A]<a>[p:B]<tab>[p:C]</a>"


def test_line_breaks_inside_a_sentence_leave_no_spaces_around() -> None:
    text = ParagraphText(0, 0, [plain("a long"), Kept("<br>", line_break=True), plain("title")])
    assert [each.text for each in text.segments] == ["a long title"]
    links = [Link((0, 6), (0, 4), 1.0), Link((7, 12), (5, 10), 1.0)]
    assert text.fill([SegmentTranslation("lang Titel", links)]) == "[p:lang]<br>[p:Titel]"


def test_ranges_are_around_their_words() -> None:
    items = pair_halves([plain("the "), half("r", True), plain("red"), half("r", False), plain(" house")])
    assert translate(*items, by=backwards) == "[p:HOUSE ]<r>[p:RED]</r>[p: THE]"


def test_ranges_that_cross_or_hold_a_break_keep_their_order() -> None:
    crossing = [half("r", True), plain("a"), half("s", True), plain("b"), half("r", False), half("s", False)]
    assert emit(pair_halves(crossing)) == emit(crossing)
    assert not any(isinstance(each, Wrap) for each in pair_halves(crossing[:5]))
    broken = [half("r", True), plain("a"), Kept("<br>", line_break=True), plain("B"), half("r", False)]
    assert translate(*pair_halves(broken)) == "<r>[p:A]<br>[p:B]</r>"


def test_placeholders_differ_from_the_text() -> None:
    text = ParagraphText(0, 0, [plain("{{x1}} of "), Kept("<n>", placeholder=True)])
    assert text.segments[0].text == "{{x1}} of {{y1}}"
    assert text.fill([SegmentTranslation("{{y1}} von {{x1}}")]) == "<n>[p: von {{x1}}]"
    assert text.fill([SegmentTranslation("verloren")]) == "[p:verloren]<n>"


def test_white_space_around_the_text_stays() -> None:
    text = ParagraphText(0, 0, [plain("  one "), bold("two"), plain(" ")])
    assert text.segments[0].text == "one two"
    links = [Link((0, 3), (5, 8), 1.0), Link((4, 7), (1, 4), 1.0)]
    assert text.fill([SegmentTranslation(" two one ", links)]) == "[p:  ][b:two][p: one ]"


def test_control_characters_of_a_translation_are_dropped() -> None:
    assert translate(plain("one"), by=lambda _: SegmentTranslation("e\x01i\x02n\x00s\n")) == "[p:e i n s]"


def test_too_many_pieces_are_translated_one_by_one() -> None:
    items = [bold("a ") if number % 2 else plain("b ") for number in range(MAX_TAGS + 2)]
    text = ParagraphText(0, 0, items)
    assert len(text.segments) == MAX_TAGS + 2
    assert text.fill([shout(each) for each in text.segments]) == "[p:B ][b:A ]" * (MAX_TAGS // 2 + 1)
