"""Text that continues prompts, and many prompts at once."""

from pathlib import Path
from typing import Any

import pytest

from hark.engine.interface import Hypothesis, Request
from hark.errors import UserError
from hark.tasks.generate import GeneratedText, GenerateOptions, Generator, OngoingText, finish
from hark.tasks.text_writer import TextWriter
from tests.tasks.decoders import make_one_stack
from tests.tasks.test_text_writer import byte_pairs

PROMPTS = ["Once upon a time", "", "The house", "It was a long day, and the cat sat on the mat again."]


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Generator:
    return Generator.load(make_one_stack(tmp_path_factory.mktemp("models") / "gpt"))


def followed(generator: Generator, prompt: str, **options: Any) -> tuple[list[str], GeneratedText]:
    """The pieces of a text, and the whole."""
    running, pieces = generator.stream(prompt, **options), []
    while True:
        try:
            pieces.append(next(running))
        except StopIteration as end:
            return pieces, end.value


def test_tokens_have_names_and_places_in_the_text() -> None:
    vocabulary = byte_pairs()
    tokens = vocabulary.encode_one(" ab€ x")
    start, *others = (each for text in ("a", "\N{EURO SIGN}") for each in vocabulary.encode_one(text))
    likely = ((start, -0.5), (others[0], -1.0), (vocabulary.special.end, -2.0))
    answer = Hypothesis(tuple(tokens), 0, 0, True, None, (-1.0,) * (len(tokens) + 1), (likely,) * (len(tokens) + 1))
    text = OngoingText(0, Request((), prefix=()), GenerateOptions(), TextWriter(vocabulary), answer=answer)
    assert finish(text, (answer,)) == " ab€ x"
    found = text.chances()
    names = [rf"bytes:\x{byte:02x}" for byte in "\N{EURO SIGN}".encode()]
    assert [each.text for each in found] == [" ", "ab", *names, " x"]
    assert [each.offset for each in found] == [0, 1, 3, 3, 3, 4]
    assert found[0].alternatives == {"a": -0.5, names[0]: -1.0, "<end>": -2.0}


def test_many_prompts_give_what_each_gives_alone(generator: Generator) -> None:
    options = {"max_tokens": 20, "seed": 3}
    together = list(generator.generate(PROMPTS, n=3, **options))
    assert together == [next(generator.generate([each], n=3, **options)) for each in PROMPTS]
    assert len({each.text for texts in together for each in texts}) > 9
    endings = [each.ending for texts in together for each in texts]
    assert {*endings} == {"eos", "length"}
    again = [next(generator.generate(PROMPTS[:1], max_tokens=20, seed=each.seed)) for each in together[0]]
    assert [[each] for each in together[0]] == again


def test_pieces_of_a_stream_are_the_text(generator: Generator) -> None:
    for prompt in PROMPTS:
        for options in ({"temperature": 0}, {"seed": 8}):
            pieces, whole = followed(generator, prompt, max_tokens=30, **options)
            assert "".join(pieces) == whole.text
            assert whole.ending == "eos" or len(pieces) > 5
            ((same,),) = generator.generate([prompt], max_tokens=30, **options)
            assert (same.text, same.ending) == (whole.text, whole.ending)


def test_stop_strings_end_texts_and_free_their_places(generator: Generator) -> None:
    ((whole,),) = generator.generate(PROMPTS[:1], max_tokens=40, temperature=0)
    stop = whole.text[9:14]  # begins and ends within tokens
    expected = whole.text[: whole.text.find(stop)]
    pieces, found = followed(generator, PROMPTS[0], max_tokens=40, temperature=0, stop=[stop, "never"])
    assert ("".join(pieces), found.text, found.ending) == (expected, expected, "stop")
    ((found, *_),) = generator.generate(PROMPTS[:1], max_tokens=40, temperature=0, stop=[stop])
    assert (found.text, found.ending) == (expected, "stop")
    generator.engine.step()
    assert generator.engine.scheduler.running == 0  # type: ignore[attr-defined]


def test_a_stream_that_is_left_is_cancelled(generator: Generator) -> None:
    running = generator.stream(PROMPTS[0], max_tokens=40, seed=1)
    next(running)
    running.close()
    generator.engine.step()
    assert generator.engine.scheduler.running == 0  # type: ignore[attr-defined]


def test_min_p_keeps_likely_tokens_only(generator: Generator) -> None:
    greedy, strict = (
        next(generator.generate(PROMPTS[:1], max_tokens=20, **options))[0].text
        for options in ({"temperature": 0}, {"min_p": 0.9999, "seed": 5, "temperature": 1.0})
    )
    assert strict == greedy


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": 0}, "max_tokens 0: must be at least 1"),
        ({"temperature": -1.0}, "temperature"),
        ({"top_p": 0.0}, "top_p"),
        ({"min_p": 1.0}, "min_p"),
        ({"stop": [""]}, "stop: must be a list"),
        ({"stop": "abc"}, "stop: must be a list"),
        ({"n": 2, "temperature": 0}, "n 2 requires a temperature"),
        ({"n": 0}, "n 0: must be at least 1"),
    ],
)
def test_mistakes_are_explained(generator: Generator, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        list(generator.generate(["x"], **options))


def test_a_prompt_that_is_too_long_is_named(generator: Generator) -> None:
    with pytest.raises(UserError, match=r"prompt 2: prompt has \d+ tokens, but the model has 64 positions; shorten it"):
        list(generator.generate(["a", "word " * 80], max_tokens=3))
    with pytest.raises(TypeError, match="put a single one into a list"):
        list(generator.generate("text"))


def test_a_model_may_begin_texts_without_a_start_token(generator: Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """As GPT-2: the first token is the first input."""
    vocabulary = generator.vocabulary
    monkeypatch.setattr(type(vocabulary), "text_start", None)
    tokens = vocabulary.encode_one(PROMPTS[0])
    ((text,),) = generator.generate(PROMPTS[:1], max_tokens=8, temperature=0)
    from tests.engine.test_one_stack import next_logits

    model: Any = generator.engine.model  # type: ignore[attr-defined]
    written = TextWriter(vocabulary)
    for _ in range(8):
        logits_V = next_logits(model, tokens)[-1]
        logits_V[[*vocabulary.special.forbidden]] = -float("inf")
        tokens.append(int(logits_V.argmax()))
        written.push(tokens[-1:])
        if tokens[-1] == vocabulary.special.end:
            break
    written.push((), last=True)
    assert text.text == written.text
    # Without a prompt, there is nothing but the start token to begin with.
    assert next(generator.generate([""], max_tokens=3, seed=1))[0].ending in ("eos", "length")


def test_models_of_other_shapes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="continues no text: it fills gaps"):
        Generator(make_one_stack(tmp_path / "bert", "encoder"))
