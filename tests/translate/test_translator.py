"""The translator on stub engines, whose answers are known, so that nothing here depends on a model."""

import gc
import re
import tracemalloc
from collections.abc import Iterator
from itertools import chain, islice, permutations, repeat
from random import Random
from string import ascii_lowercase

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hark.config import DecodeConfig
from hark.engine.interface import Hypothesis, Request
from hark.translate import tasks
from hark.translate.piece import Options
from hark.translate.translation import Translation
from tests.translate.stub import WORDS, hypothesis, tokenizer, translator

ITEMS = ["https://example.com/a?b=c", "{name}", "%1$s", '<x id="1"/>', "12.5 kg", "a.b@c.org", "👍", "Привет", "2014"]
WORD = st.sampled_from(WORDS + ITEMS)
SENTENCE = st.builds(
    lambda words, end: " ".join(words) + end,
    st.lists(WORD, min_size=1, max_size=9),
    st.sampled_from([".", "!", "?", "", ";"]),
)
LINE = st.builds(
    lambda head, sentences, between, tail: head + between.join(sentences) + tail,
    st.sampled_from(["", "  ", "\t", "- ", "  * ", "1. ", "2) ", "> ", "# ", "\ufeff"]),
    st.lists(SENTENCE, max_size=3),
    st.sampled_from([" ", "  ", "\t", "     "]),
    st.sampled_from(["", " ", "  ", "\t"]),
)
DOCUMENT = st.builds(
    lambda lines, last: "".join(line + end for line, end in lines) + last,
    st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r\n", "\n\n", "\n \n"])), max_size=6),
    LINE | st.just(""),
)


@given(DOCUMENT)
def test_copied_text_is_unchanged(document: str) -> None:
    made, engine = translator(max_length=20)
    assert made.translate(document).text == document
    assert all(len(request.source) <= 20 for request in engine.requests)


@given(st.text(max_size=80))
@example("À\xadA")  # a character that no model sees, beside a letter that this one does not know
def test_any_copied_text_is_unchanged(text: str) -> None:
    assert translator()[0].translate(text).text == text


def shape(text: str) -> list[str]:
    """The parts that must not change: whitespace at the ends of lines and between them, and line ends."""
    return [line[: len(line) - len(line.lstrip())] + "|" + line[len(line.rstrip()) :] for line in text.splitlines(True)]


def reverse(text: str, _: Request) -> str:
    return " ".join(text[::-1].split())


def grow(text: str, _: Request) -> str:
    return text + " und das alt"


def nothing(_text: str, _: Request) -> str:
    return ""


def loop(_text: str, _: Request) -> str:
    return "the cat " * 30


@given(DOCUMENT, st.sampled_from([reverse, grow, nothing, loop]))
def test_structure_is_kept_whatever_the_engine_answers(document: str, answer) -> None:
    made, engine = translator(answer, max_length=20)
    result = made.translate(document, Options(join=False))  # joined lines would be wrapped again
    check_structure(document, result)
    assert engine.closed is False


def check_structure(document: str, result: Translation) -> None:
    """Check that a translation has all parts of its source in their places."""
    assert shape(result.text) == shape(document)
    assert [each.source for each in result.sentences] == list(result.layout.sentences)
    for each in result.sentences:
        assert document[each.source_start : each.source_start + len(each.source)] == each.source
        assert result.text[each.start : each.start + len(each.text)] == each.text
        assert each.text.strip()
    for item in ITEMS[:8]:  # the last may be localised
        assert result.text.count(item) >= document.count(item), item
        if "changed" not in result.flags:
            assert result.text.count(item) == document.count(item), item


def test_a_quoted_attribute_of_a_tag_is_not_a_literal() -> None:
    result = translator(lambda *_: "dann")[0].translate('click <x id="1"/>.')
    assert '<x id="1"/>' in result.text


def test_no_sentence_is_lost_or_repeated() -> None:
    text = "\n\n".join(f"  - The cat sees {a} house. The tree {b}!" for a in WORDS[:20] for b in WORDS[20:30])
    asked: list[str] = []

    def mark(source: str, _: Request) -> str:
        asked.append(source)
        return source.upper()

    made, _ = translator(mark, batch_size=40)
    assert made.translate(text).text == re.sub(r"(The [^.!]*[.!])", lambda match: match[0].upper(), text)
    assert len(asked) == len(set(asked)) == 30  # repeated sentences are translated once


SENTENCES = [
    "Click {name} to open https://example.com/a?b=c",
    "%1$s files were deleted",
    '<x id="1"/>Save<x id="2"/>',
    "It is 12.5 kg and not 13\u00a0kg.",
    "You have 👍 it, Привет to a.b@c.org!",
]


@pytest.mark.parametrize("source", SENTENCES)
@pytest.mark.parametrize("vandal", ["spaces", "drops", "doubles", "drops all figures", "localises"])
def test_protected_text_survives_any_damage(source: str, vandal: str) -> None:
    def answer(text: str, _: Request) -> str:
        match vandal:
            case "spaces":
                return re.sub(r"([{}/<>%$])", r" \1 ", text)
            case "drops":
                return re.sub(r"[{<%].*?[}>s]|http\S*|\S+@\S+|👍|Привет|[\d.]+ kg", "", text)
            case "doubles":
                return text + " " + text
            case "drops all figures":
                return re.sub(r"\S*[\d{}/@<>]\S*", "", text)
        return re.sub(r"(\d)\.(\d)", r"\1,\2", text)

    result = translator(answer)[0].translate(source)
    for item in ["{name}", "https://example.com/a?b=c", "%1$s", *ITEMS[3:8], '<x id="2"/>', "13\u00a0kg"]:
        assert result.text.count(item) == source.count(item)
    assert "changed" not in result.flags
    if vandal == "localises" and "12.5" in source:
        assert result.flags == ("repaired",)


def test_items_at_the_edges_and_text_without_words_are_not_sent_to_the_model() -> None:
    made, engine = translator()
    made.translate('<x id="1"/> Save it <b>now</b> 👍\n{name}\n- 12.5 kg\n2014!')
    assert engine.asked == ["Save it now"]
    made.translate("Привет! https://a.b")
    assert len(engine.asked) == 1


def test_copied_text_is_flagged() -> None:
    made, _ = translator()
    assert made.translate("{name}: 5%").flags == ("copied",)
    result = made.translate("{name}. The cat.")
    assert result.flags == ()
    assert [each.flags for each in result.sentences] == [("copied",), ()]
    assert made.translate("").flags == ()


def test_punctuation_after_an_item_stays_with_it() -> None:
    made, engine = translator(lambda text, _: "Die Katze" if re.search(r"\d", text) else text.upper())
    result = made.translate("The {a}, which was old, and (see {b}) the cat")
    assert result.text == "THE {a}, WHICH WAS OLD, AND (SEE {b}) THE CAT"
    assert {"The", "which was old, and (see", "the cat"} <= set(engine.asked)


def test_masks_are_never_numbers_of_the_text() -> None:
    made, engine = translator()
    result = made.translate("{a} has 317 and 428 of {b} here")
    assert result.text == "{a} has 317 and 428 of {b} here"
    assert result.flags == ()
    assert engine.asked[-1] == "539 has 317 and 428 of 650 here"


def test_items_that_cannot_be_restored_are_flagged() -> None:
    result = translator(lambda text, _: re.sub(r"\d+", "2013", text))[0].translate("In 2014 the cat was here.")
    assert result.text == "In 2013 the cat was here."
    assert result.flags == ("retried", "changed", "number")
    assert [str(reason) for reason in result.reasons][1] == "a number changed (2014 -> 2013)"
    assert result.doubtful == ("changed", "number")


def test_a_wider_search_may_find_a_translation_without_faults() -> None:
    def answer(text: str, request: Request) -> list[str]:
        return [text.replace("2014", "2013"), text.replace("The", "Die")][: request.search.nbest]

    made, engine = translator(answer)
    assert made.translate("The cat of 2014.").text == "Die cat of 2014."
    first, second = engine.requests
    assert (first.search.beam, second.search.beam, second.search.nbest) == (4, 8, 8)


def test_a_limit_that_turns_round_is_flagged() -> None:
    made, engine = translator(lambda text, _: text.replace("at most", "at least"))
    result = made.translate("Take at most 4 g in 24 hours.")
    assert result.text == "Take at least 4 g in 24 hours."
    assert (result.flags, result.doubtful) == (("retried", "limit"), ("limit",))
    assert [str(each) for each in result.reasons] == ["a limit, an order or a negation changed (at most -> at least)"]
    assert len(engine.requests) == 2  # there is nothing to mask, and halves would lose the context
    assert made.translate("Take at most 4 g in 24 hours.", Options(protect=False)).flags == ()


def test_a_negation_that_differs_is_flagged_but_not_a_reason_for_another_translation() -> None:
    def answer(text: str, request: Request) -> list[str]:
        return ["The cat is at home.", text][: request.search.nbest]

    made, engine = translator(answer)
    result = made.translate("The cat is not at home.", Options(search=DecodeConfig(nbest=2)))
    assert result.text == "The cat is at home."
    assert (result.flags, result.doubtful) == (("limit",), ("limit",))
    assert len(engine.requests) == 1


def test_a_hypothesis_with_the_right_limit_or_number_wins_even_if_it_is_the_third() -> None:
    def answer(text: str, request: Request) -> list[str]:
        turned = [text.replace("at most", "at least"), text.replace("4", "5"), text.replace("Take", "Have")]
        return turned[: request.search.nbest]

    result = translator(answer)[0].translate("Take at most 4 g in 24 hours.")
    assert (result.text, result.flags) == ("Have at most 4 g in 24 hours.", ("retried",))


LONG = "the cat sees a red house, but it is not the old house of the committee"


def test_a_looped_translation_is_decoded_again_in_parts() -> None:
    made, engine = translator(lambda text, _: "the cat " * 12 if len(text) > 50 else text.upper())
    result = made.translate(LONG)
    assert result.text == LONG.upper()
    assert result.flags == ("split", "retried")
    assert len(engine.asked) == 4


def test_a_persistent_loop_is_flagged_but_not_one_of_the_source() -> None:
    made, _ = translator(lambda *_: "the cat " * 20)
    assert made.translate("see it").flags == ("retried", "looped", "length")
    assert translator()[0].translate("no no no no no no no no no no no no").flags == ()


def test_an_empty_answer_keeps_the_source() -> None:
    result = translator(nothing)[0].translate("  The cat sees it.\n")
    assert result.text == "  The cat sees it.\n"
    assert result.flags == ("retried", "untranslated", "empty")


def test_an_answer_without_hypotheses_keeps_the_source() -> None:
    result = translator(lambda *_: [])[0].translate("The cat sees {name}.")
    assert result.text == "The cat sees {name}."
    assert "untranslated" in result.flags


def test_only_the_empty_part_is_kept_untranslated() -> None:
    result = translator(lambda text, _: "" if "cat" in text else text.upper())[0].translate(LONG)
    assert result.text == "the cat sees a red house, BUT IT IS NOT THE OLD HOUSE OF THE COMMITTEE"
    assert "untranslated" in result.flags


def test_truncated_is_flagged_only_if_a_safer_search_fails_too() -> None:
    def cut_off(text: str, request: Request) -> Hypothesis:
        return hypothesis(text[: request.search.max_extra], request, complete=request.search.max_extra > len(text))

    made, engine = translator(cut_off)
    result = made.translate(LONG)
    assert (result.text, result.flags) == (LONG, ("retried",))
    assert [request.search.max_extra for request in engine.requests] == [50, 110]
    never = translator(lambda text, request: hypothesis(text, request, complete=False))[0]
    assert never.translate("The cat.").flags == ("retried", "truncated")


def test_sentences_longer_than_in_training_are_cut_between_clauses() -> None:
    made, engine = translator(lambda text, _: text.upper() + ".", max_length=16)
    text = "the cat sees a house, and the old tree was here before; they have been in it."
    result = made.translate(text)
    assert result.text == text.upper() + "."
    assert result.flags == ("split",)
    assert sorted(engine.asked) == sorted(
        ["the cat sees a house, and the old tree was here before;", "they have been in it."]
    )
    assert all(len(request.source) <= 16 for request in engine.requests)


def test_long_text_without_words_is_copied() -> None:
    made, engine = translator(lambda text, _: text.upper())
    assert made.translate("x" * 100_000 + " is it").text == "x" * 100_000 + " IS IT"
    assert len(engine.asked) == 1


def test_a_long_word_is_translated_as_a_whole() -> None:
    made, engine = translator(lambda text, _: text.upper())
    chance = Random(1)
    word = "".join(chain.from_iterable(chance.sample(ascii_lowercase, 25) for _ in range(19)))
    result = made.translate(f"{word} is it")
    assert result.text == f"{word.upper()} IS IT"
    assert len(engine.asked) > 7


def test_unbroken_data_is_copied_and_flagged() -> None:
    made, engine = translator(lambda text, _: text.upper())
    blob = "QUJD/+" * 2000
    for options in (Options(), Options(split=False)):
        result = made.translate(f"the cat {blob} and the dog", options)
        assert result.text == f"THE CAT {blob} AND THE DOG"
        assert "untranslated" in result.flags
    assert all(blob[:50] not in asked for asked in engine.asked)
    assert made.translate(blob * 20).text == blob * 20


def test_a_long_line_has_few_sentences_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.translate.tasks.MAX_RUNNING", 50)
    made, engine = translator(lambda text, _: text.upper())
    line = " ".join(f"the cat sees {number} small red houses." for number in range(300))
    future = made.submit(line)
    waiting = []
    while not future.done():
        waiting.append(len(engine.intake) + len(engine.held))
        made.step()
    assert max(waiting) <= 50
    assert future.result().text == line.upper()
    assert len(future.result().sentences) == 300


class TestCapitals:
    def test_the_better_of_both_cases_is_kept(self) -> None:
        def german(text: str, request: Request) -> Hypothesis:
            if text.startswith("THE"):
                return hypothesis("DIE CAT", request, score=-9.0)
            return hypothesis(f"Die Straße {re.findall('[0-9]+', text)[0]} ist alt", request, score=-1.0)

        made, engine = translator(german)
        result = made.translate("THE STREET {a} IS OLD")
        assert result.text == "DIE STRASSE {a} IST ALT"
        assert result.flags == ("recased",)
        assert engine.asked[0] == "THE STREET 317 IS OLD"
        assert engine.asked[1] == "The street 317 is old"

    def test_capitals_are_kept_if_they_score_better(self) -> None:
        made, _ = translator(lambda text, request: hypothesis(text, request, score=-1.0 if text.isupper() else -2.0))
        result = made.translate("THE CAT SEES THE HOUSE")
        assert (result.text, result.flags) == ("THE CAT SEES THE HOUSE", ())

    def test_abbreviations_are_unchanged(self) -> None:
        made, engine = translator()
        made.translate("NATO and the EU. UNESCO.")
        assert sorted(engine.asked) == ["NATO and the EU.", "UNESCO."]


class TestMore:
    def test_alternatives(self) -> None:
        def three(text: str, request: Request) -> list[str]:
            return [text, text.replace("{a}", ""), text.upper(), text.lower()][: request.search.nbest]

        made, _ = translator(three)
        options = Options(DecodeConfig(nbest=4))
        result = made.translate("The cat. The {a} tree.\n", options)
        texts = [each.text for each in result.alternatives]
        # A translation that lost {a} is not an alternative.
        assert texts == ["THE CAT. THE {a} TREE.\n", "the cat. the {a} tree.\n"]
        assert [each.score for each in result.alternatives] == sorted(
            (each.score for each in result.alternatives), reverse=True
        )

    def test_alignment_has_offsets_in_the_text(self) -> None:
        made, engine = translator(lambda text, _: text)
        text = "  - The cat <b>sees</b> it.\n\tA {name} house!"
        assert made.translate(text).links == ()
        assert not engine.requests[1].attention  # the first needs the alignment to place the tags
        links = made.translate(text, Options(align=True)).links
        assert [text[slice(*link.source)] for link in links] == [
            "The",
            "cat",
            "sees",
            "it.",
            "A",
            "{name}",
            "house!",
        ]
        translation = made.translate(text, Options(align=True)).text
        targets = [re.sub("<.*?>", "", translation[slice(*link.target)]) for link in links]
        assert targets == [text[slice(*link.source)] for link in links]
        assert all(link.weight == 1.0 for link in links)

    def test_alignment_through_masks_and_capitals(self) -> None:
        made, _ = translator(lambda text, _: text.replace("{name}", ""))
        text = "the cat {name} is on it"
        links = made.translate(text, Options(align=True)).links
        assert [text[slice(*link.source)] for link in links] == text.split()

    def test_protect_false_protects_nothing(self) -> None:
        made, engine = translator(lambda text, _: text.replace("{name}", "{Name}"))
        result = made.translate("The {name} was 12.5 kg", Options(protect=False))
        assert (result.text, len(engine.asked)) == ("The {Name} was 12.5 kg", 1)

    def test_split_false_keeps_lines_whole(self) -> None:
        made, engine = translator()
        result = made.translate("The cat. A tree!  \n- It is. So\tbe it.", Options(split=False))
        assert sorted(engine.asked) == ["It is. So", "The cat. A tree!", "be it."]
        assert result.text == "The cat. A tree!  \n- It is. So\tbe it."

    def test_scores(self) -> None:
        made, _ = translator(lambda text, request: hypothesis(text, request, score=-float(len(text))))
        result = made.translate("The cat.\n{name}\nThe house.")
        assert [each.score for each in result.sentences] == [-8.0, None, -10.0]
        weights = [each.tokens for each in result.sentences]
        assert result.score == pytest.approx((-8 * weights[0] - 10 * weights[2]) / (weights[0] + weights[2]))
        assert made.translate("5").score is None


class TestStream:
    def test_order_is_kept_and_texts_are_read_lazily(self) -> None:
        taken = 0

        def endless() -> Iterator[str]:
            nonlocal taken
            for number in repeat(0):
                taken += 1
                yield f"The cat {WORDS[taken % 40]}." if taken % 3 else f" {number}\n"

        made, engine = translator(lambda text, _: text.upper(), batch_size=7)
        results = list(islice(made.stream(endless(), window=50), 300))
        assert [each.text for each in results] == [each.source.upper() for each in results]
        assert taken < 300 + 60
        assert engine.most == 7

    def test_memory_does_not_grow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Apart from cyclic garbage, whose collection depends on what else the process holds."""
        monkeypatch.setattr(tasks, "CACHED_OUTCOMES", 50)  # full soon
        made, engine = translator(batch_size=3)
        # Different lines of the same words: caches of words and patterns are full after a few of them.
        lines = (f"The {' '.join(words)} sees https://a.b." for words in permutations(sorted(WORDS)[:8], 4))
        stream = made.stream(lines, window=30)
        peaks = []
        assert len(list(islice(stream, 60))) == 60
        gc.collect()
        gc.freeze()  # so that collecting what the stream leaves takes no time
        tracemalloc.start()
        try:
            for _ in range(3):
                for number, _ in enumerate(islice(stream, 110)):
                    engine.requests.clear()
                    engine.asked.clear()
                    if number % 5 == 0:
                        gc.collect()
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.reset_peak()
        finally:
            tracemalloc.stop()
            gc.unfreeze()
        assert peaks[2] < peaks[1] * 1.2

    def test_translations_are_yielded_while_input_pauses(self) -> None:
        """As at a terminal: a line, a blank line, a pause, then the next."""
        given_out: list[str] = []

        class Typed:
            """Its third line arrives after the second is answered."""

            lines = iter(["The cat.", "", "A tree."])
            number = 0

            def __iter__(self) -> Iterator[str]:
                return self

            def __next__(self) -> str:
                assert len(given_out) >= 2 * (self.number == 2)
                self.number += 1
                return next(self.lines)

            def ready(self) -> bool:
                return self.number != 2

        for each in translator(batch_size=100)[0].stream(Typed()):
            given_out.append(each.text)
        assert given_out == ["The cat.", "", "A tree."]

    def test_an_error_of_the_iterable_is_raised_after_earlier_translations(self) -> None:
        def texts() -> Iterator[str]:
            yield from ("The cat.", "A tree.")
            raise ValueError("line 3")

        stream = translator()[0].stream(texts())
        assert [next(stream).text, next(stream).text] == ["The cat.", "A tree."]
        with pytest.raises(ValueError, match="line 3"):
            next(stream)

    @pytest.mark.parametrize("wrong", [None, 3, b"the cat", ["the cat"]])
    def test_an_item_that_is_not_a_string_is_named_by_its_position(self, wrong: object) -> None:
        made, _ = translator()
        answers = made.stream(["the cat", "a tree", wrong, "the dog"])  # type: ignore[list-item]
        assert [next(answers).text, next(answers).text] == ["the cat", "a tree"]
        with pytest.raises(TypeError, match=r"^text 3 is .*, not a string$"):
            next(answers)
        with pytest.raises(TypeError, match="text must be a string, not"):
            made.submit(wrong)  # type: ignore[arg-type]

    def test_two_streams_and_a_submitted_text_share_an_engine(self) -> None:
        made, engine = translator()
        urgent = made.submit("We run.", Options(urgent=True))
        one, other = (made.stream([f"The cat {word}." for word in WORDS[:20]]) for _ in range(2))
        for first, second, word in zip(one, other, WORDS[:20], strict=True):
            assert first.text == second.text == f"The cat {word}."
        assert urgent.result().text == "We run."
        assert any(each.urgent for each in engine.requests)

    def test_options_are_per_text(self) -> None:
        made, engine = translator()
        narrow, wide = (made.submit("The cat.", Options(DecodeConfig(beam=beam))) for beam in (1, 7))
        while not (narrow.done() and wide.done()):
            made.step()
        assert {each.search.beam for each in engine.requests} == {1, 7}

    def test_closing_a_stream_cancels_the_rest(self) -> None:
        made, engine = translator(batch_size=50)
        stream = made.stream(["The cat."] * 50)
        next(stream)
        stream.close()  # type: ignore[attr-defined]
        asked = len(engine.asked)
        made.step()
        assert not engine.held
        assert len(engine.intake) == 0
        assert len(engine.asked) == asked < 50


def test_the_test_vocabulary_knows_all_words_used() -> None:
    """Otherwise words would count as unknown, and be copied whatever the engine answers."""
    assert tokenizer().vocab_size == 700
    assert translator()[0].coder.unknown("".join(WORDS) + '{}<>/%$"=?.@:;!') == ""
