"""Documents are translated segment by segment, each distinct text once."""

import subprocess
import sys

from hark.documents.formats import SegmentOutcome, read_document
from hark.documents.memory import Memory
from hark.documents.translate import translate_document
from tests.documents.plain import Lines, Reversing


def test_each_distinct_text_is_translated_once() -> None:
    translate = Reversing()
    steps: list[int] = []
    done = translate_document(Lines("one two\nthree\none two"), translate, advance=steps.append)
    assert done.content == b"eno owt\neerht\neno owt"
    assert translate.asked == [("one two", False), ("three", False)]
    assert steps == [0, 2, 1]
    assert [each.text for each in done.segments] == ["one two", "three", "one two"]
    assert [each.text for each in done.outcomes] == ["eno owt", "eerht", "eno owt"]


def test_only_tagged_segments_get_word_links() -> None:
    translate = Reversing()
    done = translate_document(Lines("one\n*two three"), translate)
    assert translate.asked == [("one", False), ("*two three", True)]
    assert [len(each.links) for each in done.outcomes] == [0, 2]


def test_warnings_are_kept() -> None:
    done = translate_document(Lines("sure.\nreally?"), Reversing())
    assert [[each.flag for each in outcome.reasons] for outcome in done.outcomes] == [[], ["unsure"]]


def memory(**units: str) -> Memory:
    known = {key.replace("_", " "): value for key, value in units.items()}
    return Memory(known.get, known.keys)


def test_the_memory_saves_the_model() -> None:
    translate = Reversing()
    done = translate_document(Lines("  one two \nthree"), translate, memory=memory(one_two="EINS ZWEI"))
    assert done.content == b"  EINS ZWEI \neerht"
    assert translate.asked == [("three", False)]
    assert [each.origin for each in done.outcomes] == ["memory", "model"]


def test_a_tagged_segment_of_the_memory_gets_the_links_of_the_model() -> None:
    known = Memory({"one *two three": "eno ZWEI eerht"}.get, list)
    [outcome] = translate_document(Lines("one *two three"), Reversing(), memory=known).outcomes
    assert outcome.text == "eno ZWEI eerht"
    assert outcome.origin == "memory"
    words = {"one *two three"[slice(*each.source)]: outcome.text[slice(*each.target)] for each in outcome.links}
    assert words == {"one": "eno", "*two": "ZWEI", "three": "eerht"}


def test_sentences_of_the_memory_replace_those_of_the_model() -> None:
    known = Memory({"Is it?": "Ist es so?"}.get, list)
    text = "Here we are. Is it? *Yes we are."
    [outcome] = translate_document(Lines(text), Reversing(), memory=known).outcomes
    assert outcome.text == "ereH ew .era Ist es so? seY* ew .era"
    assert outcome.origin == "model"
    assert outcome.reasons == ()  # the doubtful sentence was replaced
    words = [(text[slice(*each.source)], outcome.text[slice(*each.target)]) for each in outcome.links]
    assert ("Here", "ereH") in words
    assert ("*Yes", "seY*") in words


class Kept:
    """What an interrupted run has finished."""

    def __init__(self) -> None:
        self.done = {("one", False): SegmentOutcome("from before")}
        self.added: list[object] = []

    def add(self, key: object, outcome: SegmentOutcome) -> None:
        self.added.append((key, outcome.text))


def test_finished_segments_are_not_translated_again() -> None:
    translate, kept = Reversing(), Kept()
    steps: list[int] = []
    done = translate_document(Lines("one\ntwo\none"), translate, kept, advance=steps.append)
    assert done.content == b"from before\nowt\nfrom before"
    assert kept.added == [(("two", False), "owt")]
    assert steps == [2, 1]


def test_a_message_that_loses_its_placeholder_is_flagged() -> None:
    """The translator does not know that %d is a placeholder before letters; the reader of messages does."""
    content = b'{"size": "The width is %dpx now", "plain": "Nothing here"}'
    done = translate_document(read_document("a.json", content), Reversing())
    assert done.content == b'{"size": "The width is %dpx now", "plain": "gnihtoN ereh"}'
    assert [list(map(str, each.reasons)) for each in done.outcomes] == [["protected text was changed (%d)"], []]


def test_a_document_without_a_memory_needs_no_training_data() -> None:
    code = "import sys; from hark.documents import report, translate; print('hark.data' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
