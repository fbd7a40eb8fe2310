"""Sentences are reported as they finish, as they are in the whole translation; and the reasons of faults."""

from typing import get_args

import pytest

from hark.translate.piece import Options
from hark.translate.translation import FAULTS, MESSAGES, Fault, Reason, Sentence, in_order
from tests.translate.stub import translator


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the cat",
        "  The cat runs. The house is old.\n\n- the tree\n- a small red house \n",
        "The cat sees a small red house and runs to an old\ntree because it is not here but we have been there\n"
        "before. The committee was\nold and they were more of a state than a member of one\nhouse.",
        "The cat sees a small red house, and runs to an old tree, because it is not here, but we have been there; "
        "the committee was old, and they were more of a state, and which one, and two, and for it.",
        "def f(x): return x\nx = f(1)\n",
    ],
)
def test_reported_sentences_are_those_of_the_translation(text: str) -> None:
    translate, _ = translator(lambda text, _: text.swapcase(), max_length=30)
    seen: dict[int, Sentence] = {}
    counts: set[int] = set()

    def note(index: int, count: int, sentence: Sentence) -> None:
        assert index not in seen
        seen[index] = sentence
        counts.add(count)

    future = translate.submit(text, Options(detect=False), note)
    while not future.done():
        translate.step()
    sentences = future.result().sentences
    assert counts <= {len(sentences)}
    assert len(seen) == len(sentences)
    for index, whole in enumerate(sentences):
        assert seen[index].source_start == whole.source_start
        assert seen[index].source == whole.source
        assert seen[index].text.split() == whole.text.split()  # lines are wrapped at the end
        assert seen[index].flags == whole.flags


def test_a_translation_into_another_script_is_joined_with_spaces() -> None:
    known = {"明天见。": "See you tomorrow.", "你呢？": "And you?", "好！": "Fine!"}
    translate, _ = translator(lambda text, _: known.get(text, text))
    found = translate.translate("明天见。你呢？\n好！ 好！", Options(detect=False, protect=False))
    assert found.text == "See you tomorrow. And you?\nFine! Fine!"
    for each in found.sentences:
        assert found.text[each.start :].startswith(each.text)
        assert found.source[each.source_start :].startswith(each.source)
    known = {text: source for source, text in known.items()}
    translate, _ = translator(lambda text, _: known.get(text, text))
    found = translate.translate("See you tomorrow. And you? Fine!", Options(detect=False, protect=False))
    assert found.text == "明天见。你呢？好！"
    assert [each.start for each in found.sentences] == [0, 4, 7]


def test_every_fault_has_a_message() -> None:
    assert set(MESSAGES) == set(FAULTS) == set(get_args(Fault))


def test_message_of_a_reason() -> None:
    assert str(Reason("number", "120 -> 1")) == "a number changed (120 -> 1)"
    assert str(Reason("looped")) == "the translation repeats itself"
    assert len(str(Reason("changed", "x" * 500))) < 120


def test_reasons_are_sorted_by_severity_and_merged_by_flag() -> None:
    found = in_order(
        [Reason("unsure", "40%"), Reason("number", "2 -> 3"), Reason("unsure", "30%"), Reason("unsure", "40%")]
    )
    assert found == (Reason("number", "2 -> 3"), Reason("unsure", "40%, 30%"))
    assert in_order([]) == ()
