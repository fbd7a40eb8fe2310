"""Sentences that are translated together: which they are, how they are told apart again, and what happens if not."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.config import BatchConfig, Config, DataConfig, DecodeConfig
from hark.engine.interface import TokenPair
from hark.engine.request import Hypothesis, Request
from hark.text.phrases import Phrases
from hark.text.terms import Terms
from hark.translate.piece import Options
from hark.translate.translation import Sentence
from hark.translate.translator import Translator
from tests.translate.stub import Reply, Stub, formal_tokenizer, hypothesis, tokenizer
from tests.translate.test_translator import DOCUMENT, check_structure, grow, loop, nothing, reverse

GERMAN = {
    "The": "Das", "the": "das", "cat": "Katze", "house": "Haus", "old": "alt", "is": "ist", "sees": "sieht",
    "It": "Es", "it": "es", "runs": "rennt", "tree": "Baum", "not": "nicht", "here": "hier", "and": "und", "You": "Du",
    "have": "hast", "to": "zu", "don't": "nicht", "Open": "Siehe",
}  # fmt: skip
TEXT = "The cat sees the house. It is old. The tree is not here."
SENTENCES = ["The cat sees the house.", "It is old.", "The tree is not here."]


def words_of(text: str) -> list[str]:
    return [
        GERMAN.get(word.rstrip(".!?"), word.rstrip(".!?")) + word[len(word.rstrip(".!?")) :] for word in text.split()
    ]


def german(text: str, request: Request) -> Hypothesis:
    """Word by word, each aligned with its source."""
    return aligned(" ".join(words_of(text)), request)


def aligned(text: str, request: Request, shift: int = 0, score: float = -1.0) -> Hypothesis:
    """A translation whose words attend to the source words at the same place, or `shift` words after it."""
    found = hypothesis(text, request, score=score)
    if not request.attention:
        return found
    source, target = (place_words(tokenizer().pieces(each)) for each in (request.source[:-1], found.tokens))
    attention_TS = np.zeros((len(target), len(request.source)), np.float32)
    for t, word in enumerate(target):
        near = np.flatnonzero(source == min(max(0, word + shift), source[-1]))
        attention_TS[t, near] = 1 / len(near)
    return replace(found, attention_TS=attention_TS)


def place_words(pieces: list[str]) -> np.ndarray:
    return np.cumsum([piece.startswith("▁") for piece in pieces]) - 1


def translator(
    answer: Reply = german, context: int = 60, target: str = "de", table: Phrases | None = None
) -> tuple[Translator, Stub]:
    engine = Stub(answer)
    config = Config(data=DataConfig(source="en", target=target), batches=BatchConfig(max_length=100))
    phrases = None if table is None else lambda *_: table
    return Translator(engine, tokenizer(), tokenizer(), config, phrases=phrases, context=context), engine


def asked(text: str, options: Options | None = None, **kinds: int) -> list[str]:
    """What the engine is asked, in the order of the text."""
    made, engine = translator(**kinds)
    made.translate(text, options or Options(detect=False))
    return sorted(engine.asked, key=text.find)


def test_sentences_of_a_paragraph_are_one_request() -> None:
    made, engine = translator()
    found = made.translate(TEXT, Options(detect=False))
    assert engine.asked == [TEXT]
    assert found.text == "Das Katze sieht das Haus. Es ist alt. Das Baum ist nicht hier."
    assert [each.source for each in found.sentences] == SENTENCES
    assert found.flags == ()


TERMS = Terms([("tree", "Linde")])


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (TEXT, Options()),
        ("  - The cat sees the house.  It is old.\n\nIt runs. The tree is not here.\n", Options()),
        ("Open {name} and see https://example.com/a?b=c. It is 12.5 kg and 3 %. The cat runs!", Options()),
        ("<b>The cat</b> sees the house. It <i>is</i> old 👍. <b>It runs.</b>", Options()),
        ("You dont have it. It is old. The cat dont runs.", Options()),
        ("The cat sees the tree. The house is old. The tree is not here.", Options(terms=TERMS)),
        ("The cat sees the\nhouse and the old tree. It is old and it is\nnot here. It runs to the tree.", Options()),
    ],
)  # fmt: skip
def test_each_sentence_is_as_if_it_were_translated_alone(text: str, options: Options) -> None:
    options = replace(options, detect=False, align=True)
    together, engine = translator()
    alone, _ = translator(context=0)
    found, expected = together.translate(text, options), alone.translate(text, options)
    assert found.text == expected.text
    assert [replace(each, score=None) for each in found.sentences] == [
        replace(each, score=None) for each in expected.sentences
    ]
    assert len(engine.asked) < len(found.sentences)
    assert found.links


@given(DOCUMENT, st.sampled_from([german, reverse, grow, nothing, loop]))
def test_structure_is_kept_whatever_the_engine_answers(document: str, answer: Reply) -> None:
    made, _ = translator(answer, target="en")
    check_structure(document, made.translate(document, Options(join=False, detect=False)))


def test_sentences_share_the_log_probability_of_their_translation() -> None:
    found = translator()[0].translate(TEXT, Options(detect=False))
    lengths = [len(tokenizer().encode([each.text])[0]) for each in found.sentences]
    assert [each.tokens for each in found.sentences] == [length + 1 for length in lengths]
    doubts = [each.doubt(DecodeConfig().alpha) for each in found.sentences]
    assert doubts == pytest.approx([length / sum(lengths) / (length + 1) for length in lengths])


def test_a_translation_that_may_be_unsure_is_scored_token_by_token() -> None:
    def answer(text: str, request: Request) -> Hypothesis:
        return aligned(" ".join(words_of(text)), request, score=-0.4 * len(request.source))

    def score(pairs: Iterable[TokenPair]) -> Iterator[tuple[float, ...]]:
        for _, tokens in pairs:
            ends = [i for i, piece in enumerate(tokenizer().pieces(tokens)) if "." in piece]
            yield tuple(-1.2 if ends[0] < i <= ends[1] else -0.1 for i in range(len(tokens) + 1))

    made, engine = translator(answer)
    engine.score = score  # type: ignore[method-assign]
    found = made.translate(TEXT, Options(detect=False))
    assert engine.asked == [TEXT, "It is old."]
    alpha = DecodeConfig().alpha
    first, second, third = (each.doubt(alpha) or 0.0 for each in found.sentences)
    assert first < 0.4
    assert third < 0.4
    assert second > 0.3  # that of its own translation


@pytest.mark.parametrize(
    ("text", "together"),
    [
        ("The cat runs.\nIt is old.", ["The cat runs.", "It is old."]),
        ("The cat runs. It is old.\tIt runs.", ["The cat runs. It is old.", "It runs."]),
        ("The cat runs. IT IS AN OLD CAT. It runs. It is old.", ["The cat runs.", "It runs. It is old."]),
        ("The cat runs. {name}! It runs. It is old.", ["The cat runs.", "It runs. It is old."]),
        (" ".join(["The cat runs."] * 7), [" ".join(["The cat runs."] * 5), "The cat runs. The cat runs."]),
        ("The cat runs.", ["The cat runs."]),
    ],
)
def test_what_belongs_together(text: str, together: list[str]) -> None:
    found = asked(text)
    assert [each for each in found if each not in ("IT IS AN OLD CAT.", "It is an old cat.")] == together


def test_no_more_tokens_than_in_training() -> None:
    first, second, third = (len(tokenizer().encode([each])[0]) for each in SENTENCES)
    assert asked(TEXT, context=first + second + third) == [TEXT]
    assert asked(TEXT, context=first + second + third - 1) == [" ".join(SENTENCES[:2]), SENTENCES[2]]
    assert asked(TEXT, context=second) == SENTENCES
    assert asked(TEXT, context=0) == SENTENCES


def test_options_that_keep_sentences_apart() -> None:
    assert asked(TEXT, Options(detect=False, context=False)) == SENTENCES
    assert asked(TEXT, Options(detect=False, split=False)) == [TEXT]


def test_phrases_and_other_languages_are_not_part_of_the_context() -> None:
    made, engine = translator(table=Phrases([{"It is old.": "Alt."}]))
    made.translate("It is old.\tThe cat runs. It is here.", Options(detect=False))
    assert engine.asked == ["The cat runs. It is here."]
    made, engine = translator()
    kept = "Die Katze ist auf dem Dach und sieht das Haus."
    found = made.translate(f"The cat sees the old house. {kept} It is old. It is not here.", Options())
    assert sorted(engine.asked) == ["It is old. It is not here.", "The cat sees the old house."]
    assert [each.text for each in found.sentences][1] == kept


def once(change: Callable[[str, Request], Hypothesis]) -> Reply:
    """A reply that changes the translation of several sentences, but not that of one."""
    return lambda text, request: change(text, request) if text.count(".") > 1 else german(text, request)


@pytest.mark.parametrize(
    "change",
    [
        lambda _, request: aligned("Das Katze sieht das Haus, es ist alt. Das Baum ist nicht hier.", request),
        lambda _, request: aligned("Das. Katze. Sieht das Haus.", request),
        lambda _, request: aligned(german_text(), request, shift=-6),
        lambda text, request: replace(german(text, request), complete=False),
        lambda text, request: replace(german(text, request), attention_TS=None),
        lambda _, request: hypothesis("", request),
    ],
    ids=["joined", "cut short", "misaligned", "truncated", "without attention", "empty"],
)
def test_a_translation_that_cannot_be_divided_is_not_used(change: Callable[[str, Request], Hypothesis]) -> None:
    made, engine = translator(once(change))
    found = made.translate(TEXT, Options(detect=False))
    assert sorted(engine.asked) == sorted([TEXT, *SENTENCES])
    assert found.text == german_text()
    assert found.flags == ()


def german_text() -> str:
    return " ".join(words_of(TEXT))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("The cat is old. It sees 12 trees. It is here.", ("sieht 12", "sieht 13")),
        ("The cat is old. It sees {name} here. It is here.", ("sieht 317", "sieht 371")),
        ("The cat is old. It runs. It is here.", ("Es rennt.", "It runs.")),
        ("The cat is old. It is not here. It is here.", ("ist nicht hier. Es", "ist hier. Es")),
        ("The cat is old. It runs. It is here.", ("Es rennt.", f"Es {'rennt und ' * 9}rennt.")),
    ],
    ids=["number", "protected", "copied", "negation", "looped"],
)
def test_only_a_sentence_with_a_fault_is_translated_alone(text: str, wrong: tuple[str, str]) -> None:
    def answer(asked: str, request: Request) -> Hypothesis:
        right = " ".join(words_of(asked))
        said = right.replace(*wrong) if asked.count(".") > 1 else right
        found = aligned(said, request)
        if said == right or found.attention_TS is None:
            return found
        # The words of the middle sentence attend to those of its source, however many they are.
        source, target = (place_words(tokenizer().pieces(each)) for each in (request.source[:-1], found.tokens))
        more = target[-1] - source[-1]
        for t, word in enumerate(target):
            found.attention_TS[t] = 0
            found.attention_TS[t, np.flatnonzero(source == (word if word < 6 else max(5, word - more)))] = 1
        return found

    made, engine = translator(answer)
    found = made.translate(text, Options(detect=False))
    second = text.split(". ")[1] + "."
    assert engine.asked[0].count(".") == 3
    assert len(engine.asked) == 2
    assert found.sentences[1].source == second
    assert found.text == " ".join(words_of(text))
    assert found.flags == ()


def test_a_sentence_that_the_model_divides_is_joined_again() -> None:
    made, engine = translator(lambda _, request: aligned("Das Katze. Sieht das Haus. Es ist alt.", request))
    found = made.translate("The cat sees the house. It is old.", Options(detect=False))
    assert [each.text for each in found.sentences] == ["Das Katze. Sieht das Haus.", "Es ist alt."]
    assert len(engine.asked) == 1


def test_alternatives_are_those_of_each_sentence() -> None:
    def answer(text: str, request: Request) -> list[Hypothesis]:
        best = " ".join(words_of(text))
        said = [best, best.replace("alt", "klein"), "Das Haus.", best.replace("rennt", "geht")]
        return [aligned(each, request, score=-1.0 - rank) for rank, each in enumerate(said)]

    engine = Stub(answer)  # type: ignore[arg-type]  # it passes hypotheses on
    config = Config(data=DataConfig(source="en", target="de"), batches=BatchConfig(max_length=100))
    made = Translator(engine, tokenizer(), tokenizer(), config, context=60)
    found = made.translate("The cat runs. It is old.", Options(DecodeConfig(nbest=4), detect=False))
    assert [[each.text for each in sentence.alternatives] for sentence in found.sentences] == [
        ["Das Katze geht."], ["Es ist klein."]
    ]  # fmt: skip


def test_the_form_of_address_is_asked_for_once_and_checked_in_each_sentence() -> None:
    def answer(text: str, request: Request) -> Hypothesis:
        said = words_of(text.removeprefix("<formal> "))
        told = " ".join(said)  # in the other form, except for single sentences
        return aligned(told.replace("Du", "Sie") if text.count(".") < 2 else told, request)

    engine = Stub(answer)
    engine.vocabulary = formal_tokenizer()
    config = Config(data=DataConfig(source="en", target="de"), batches=BatchConfig(max_length=100))
    made = Translator(engine, engine.vocabulary, engine.vocabulary, config, context=60)
    found = made.translate("The cat runs. You have it here. It is old.", Options(formality="formal", detect=False))
    assert engine.asked[0] == "<formal> The cat runs. You have it here. It is old."
    assert engine.asked[1:] == ["<formal> You have it here."]
    assert "Sie" in found.sentences[1].text


def test_sentences_are_reported_as_they_finish() -> None:
    made, _ = translator()
    text = f"{TEXT}\nIt runs.\nIt is old. The cat is here."
    seen: dict[int, Sentence] = {}
    future = made.submit(text, Options(detect=False), lambda place, _, sentence: seen.setdefault(place, sentence))
    while not future.done():
        made.step()
    sentences = future.result().sentences
    assert {place: each.source_start for place, each in seen.items()} == {
        place: each.source_start for place, each in enumerate(sentences)
    }
    assert [seen[place].text for place in range(6)] == [each.text for each in sentences]


def test_a_repeated_paragraph_is_translated_once() -> None:
    made, engine = translator()
    done = list(made.stream([TEXT, "It runs.", TEXT], Options(detect=False)))
    assert done[0].text == done[2].text
    assert sorted(engine.asked) == ["It runs.", TEXT]
