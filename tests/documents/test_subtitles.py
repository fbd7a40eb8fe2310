"""Subtitles: sentences are joined over cues, and laid out over them again; times stay."""

import re

import pysubs2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.documents.formats import DocumentError, SegmentTranslation
from hark.documents.subtitles import READING_SPEED, CueSlot, break_lines, split_over_cues
from hark.translate.align import Link, word_spans
from tests.documents.translators import constant, dictionary, is_unchanged, line_ends, read, texts, translate

SRT = """\
1
00:00:01,000 --> 00:00:03,500
When I came home yesterday,

2
00:00:03,600 --> 00:00:06,000
<i>the door was</i> open. And then

3
00:00:06,100 --> 00:00:08,000 X1:100 X2:200 Y1:1 Y2:2
{\\an8}I saw him.

4
00:00:09,000 --> 00:00:11,000
- Who is there?
- Only me!

5
00:00:12,000 --> 00:00:13,000
♪♪

6
00:00:14,000 --> 00:00:16,000
<i>This is a voice
from far away.</i>

7
00:00:30,000 --> 00:00:31,000
مرحبا
"""

VTT = """\
WEBVTT - A file
Kind: captions

STYLE
::cue { color: red }

NOTE this is
not translated

intro
00:01.000 --> 00:04.000 align:start position:10%
<v Mary>Hello, Tom &amp; <b>all</b>,

00:04.000 --> 00:06.000
<v Tom>and hello to you.</v>

1:00:07.000 --> 1:00:09.000
<c.yellow>Slowly</c> <1:00:08.000>now &lt;3
"""

ASS = """\
[Script Info]
; a comment
Title: Something
ScriptType: v4.00+

[V4+ Styles]
Format: Name, Fontname
Style: Default,Arial

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,Not this
Dialogue: 0,0:00:01.00,0:00:03.00,Default,,0,0,0,,{\\an8}It was a long, cold night,\\Nand nobody
Dialogue: 0,0:00:03.10,0:00:05.00,Default,,0,0,0,,knew {\\i1}why{\\i0} it was so.
Dialogue: 0,0:00:05.10,0:00:07.00,Sign,,0,0,0,,{\\pos(1,2)}CLOSED
Dialogue: 0,0:00:06.00,0:00:07.00,Default,,0,0,0,,{\\p1}m 0 0 l 100 0{\\p0}
Dialogue: 0,0:00:06.00,0:00:07.00,Default,,0,0,0,,{\\k20}ka{\\k30}ra
"""


@pytest.mark.parametrize(("name", "text"), [("a.srt", SRT), ("a.vtt", VTT), ("a.ass", ASS), ("a.ssa", ASS)])
def test_round_trip(name: str, text: str) -> None:
    for content in line_ends(text):
        assert is_unchanged(name, content)
    assert is_unchanged(name, text.rstrip("\n"))


def test_sentences_are_joined() -> None:
    assert texts("a.srt", SRT) == [
        "When I came home yesterday, the door was open. And then I saw him.",
        "Who is there?",
        "Only me!",
        "This is a voice from far away.",
        "مرحبا",
    ]
    assert texts("a.vtt", VTT) == ["Hello, Tom & all,", "and hello to you.", "Slowly now <3"]
    assert texts("a.ass", ASS) == ["It was a long, cold night, and nobody knew why it was so.", "CLOSED"]


def cues(written: bytes) -> list[str]:
    return re.findall(r"-->.*\n((?:.+\n?)*)", written.decode())


def test_a_sentence_is_laid_out_over_its_cues() -> None:
    german = "Als ich gestern nach Hause kam, war die Tür offen. Und dann sah ich ihn."
    shown = cues(translate("a.srt", SRT, dictionary({texts("a.srt", SRT)[0]: german})))
    assert shown[0] == "Als ich gestern nach Hause kam,\n"
    assert " ".join(re.sub(r"<.*?>|\{.*?\}", "", "".join(shown[:3])).split()) == german
    assert shown[1].count("<i>") == shown[1].count("</i>") == 1
    assert shown[2].startswith("{\\an8}")
    assert all(each.strip() for each in shown[:3])


def test_times_and_settings_stay() -> None:
    written = translate("a.srt", SRT).decode()
    times = re.compile(r"^.*-->.*$", re.MULTILINE)
    assert times.findall(written) == times.findall(SRT)
    assert [event.start for event in pysubs2.SSAFile.from_string(written)] == [
        event.start for event in pysubs2.SSAFile.from_string(SRT)
    ]


def test_vtt_is_escaped_and_keeps_voices() -> None:
    written = translate("a.vtt", VTT).decode()
    assert "<v Mary>HELLO, TOM &amp; <b>ALL</b>,\n" in written
    assert "<v Tom>AND HELLO TO YOU.</v>\n" in written
    assert "NOTE this is\nnot translated\n" in written
    assert "<c.yellow>SLOWLY</c> <1:00:08.000>NOW &lt;3" in written


def test_ass_keeps_overrides() -> None:
    written = translate("a.ass", ASS).decode()
    assert ",,{\\an8}IT WAS A LONG,\\NCOLD NIGHT, AND NOBODY\n" in written
    assert "{\\i1}WHY{\\i0}" in written
    assert "Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,Not this" in written
    assert "{\\k20}ka{\\k30}ra" in written
    assert [event.style for event in pysubs2.SSAFile.from_string(written)] == [
        event.style for event in pysubs2.SSAFile.from_string(ASS)
    ]


def test_dialogue_keeps_its_lines() -> None:
    shown = cues(translate("a.srt", SRT, dictionary({"Who is there?": "Wer ist da?", "Only me!": "Nur ich!"})))
    assert shown[3] == "- Wer ist da?\n- Nur ich!\n"


def test_long_lines_are_broken() -> None:
    source = "1\r\n00:00:01,000 --> 00:00:05,000\r\nShort line\r\n\r\n"
    long = "Eine sehr viel längere Zeile, die nicht auf eine einzige Zeile passt"
    lines = translate("a.srt", source, constant(long)).decode().split("\r\n")[2:4]
    assert " ".join(lines) == long
    assert all(len(line) <= 42 for line in lines)


def test_pauses_voices_and_signs_end_a_sentence() -> None:
    def at_times(*cues: tuple[int, str]) -> str:
        return "".join(
            f"{n}\n00:00:{at:02},000 --> 00:00:{at + 2:02},000\n{text}\n\n" for n, (at, text) in enumerate(cues)
        )

    assert texts("a.srt", at_times((1, "and then"), (10, "he left"))) == ["and then", "he left"]
    assert texts("a.srt", at_times((1, "I went to"), (3, "London."))) == ["I went to London."]
    assert texts("a.srt", at_times((1, "CHAPTER ONE"), (3, "The end"))) == ["CHAPTER ONE", "The end"]
    assert texts("a.srt", at_times((1, "He was..."), (3, "...late."))) == ["He was... ...late."]
    assert texts("a.srt", at_times((1, "He was..."), (3, "Really?"))) == ["He was...", "Really?"]
    assert texts("a.srt", at_times((1, "- No, I"), (3, "do not."))) == ["- No, I", "do not."]


def test_a_cue_is_not_read_faster_than_people_can() -> None:
    text = "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"
    for seconds in ((0.5, 4.0), (4.0, 0.5)):
        spans = split_over_cues(text, [CueSlot(30, each, False) for each in seconds])
        for (start, end), each in zip(spans, seconds, strict=True):
            assert end - start <= READING_SPEED * each + 5


def subtitle(*shown: str) -> str:
    """A SubRip file with a cue for each text, one after another."""
    return "".join(
        f"{n}\n00:00:{2 * n:02},000 --> 00:00:{2 * n + 2:02},000\n{text}\n\n" for n, text in enumerate(shown, start=1)
    )


def test_a_number_in_a_cue_of_its_own_stays_in_its_sentence() -> None:
    """Without it the sentence lost a word, and its translation was laid out around the number."""
    assert texts("a.srt", subtitle("I was born in", "1984", "in Rome.")) == ["I was born in 1984 in Rome."]
    assert texts("a.srt", subtitle("3", "2", "1", "Go!")) == ["Go!"]


def test_sentences_without_full_stops_are_not_joined() -> None:
    """The model read them as one sentence, and left words out ("Come here Look at that It is beautiful")."""
    shown = ["Come here", "Look at that", "It is beautiful", "and big", "Who is it", "The police"]
    assert texts("a.srt", subtitle(*shown)) == [
        "Come here", "Look at that", "It is beautiful and big", "Who is it", "The police",
    ]  # fmt: skip
    assert texts("a.srt", subtitle("I went to", "London.", "It rained.")) == ["I went to London.", "It rained."]


TAGS = st.sampled_from(["<i>", "</i>", "<b>", "</b>", "{\\an8}", "<font color=red>", "</font>"])
SPOKEN = st.sampled_from(["and", "the", "house,", "42", "No", "...", "{x}", "&", "-", "1984"])


@given(
    st.lists(st.lists(st.one_of(TAGS, SPOKEN), min_size=1, max_size=6), min_size=1, max_size=5),
    st.sampled_from(["a.srt", "a.vtt", "a.ass"]),
    st.data(),
)
def test_no_word_of_a_translation_is_lost(shown: list[list[str]], name: str, data: st.DataObject) -> None:
    lines = [" ".join(words) for words in shown]
    source = subtitle(*lines)
    if name == "a.vtt":
        source = "WEBVTT\n\n" + source.replace(",000", ".000")
    elif name == "a.ass":
        events = (f"Dialogue: 0:00:{2 * n:02}.00,0:00:{2 * n + 2:02}.00,{line}\n" for n, line in enumerate(lines))
        source = "[Events]\nFormat: Start, End, Text\n" + "".join(events)
    document = read(name, source)
    done, expected = list[SegmentTranslation](), list[str]()
    for segment in document.segments:
        words = [f"w{len(expected) + n}w" for n in range(data.draw(st.sampled_from([1, 2, 9, 60])))]
        if name == "a.ass":
            words[0] = f"{{{words[0]}}}"
        before, after = word_spans(segment.text), word_spans(" ".join(words))
        pairs = data.draw(st.lists(st.tuples(st.sampled_from(before), st.sampled_from(after)), max_size=6))
        done.append(SegmentTranslation(" ".join(words), [Link(*pair, 1.0) for pair in pairs]))
        expected += [word.strip("{}") for word in words]
    written = re.sub(r"<[^>]*>|\{[^}]*\}", "", document.write(done).decode())
    assert re.findall(r"w\d+w", written) == expected


@given(
    st.text("ab ,.。語", max_size=60),
    st.lists(st.tuples(st.integers(1, 40), st.floats(0.1, 9)), min_size=1, max_size=5),
)
def test_no_text_is_lost_between_cues(text: str, shapes: list[tuple[int, float]]) -> None:
    text = " ".join(text.split())
    spans = split_over_cues(text, [CueSlot(length, seconds, False) for length, seconds in shapes])
    assert len(spans) == len(shapes)
    assert "".join("".join(text[slice(*span)] for span in spans).split()) == "".join(text.split())
    assert break_lines(text, 20, 2).replace("\n", " ") == text


def test_very_long_text_is_broken_into_lines_of_any_number() -> None:
    lines = break_lines("word " * 200 + "end", 42, 2).split("\n")
    assert len(lines) > 20
    assert all(len(line) <= 42 for line in lines)


def test_subtitles_without_a_format_are_refused() -> None:
    with pytest.raises(DocumentError, match=r"^a\.ass: the events have no Format line"):
        texts("a.ass", "[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,Hello\n")


def test_broken_files_come_back() -> None:
    for content in ("", "WEBVTT", "no times at all", "1\n00:00:01,000 --> \ntext", "00:00:01,0 --> 00:00:02,0\n"):
        assert is_unchanged("a.srt", content)
