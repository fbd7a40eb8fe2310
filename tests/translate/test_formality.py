"""Formal and informal address: which sentences get a symbol, and that it changes nothing else."""

from pathlib import Path

import numpy as np
import pytest

from hark.config import BatchConfig, Config, DataConfig
from hark.engine.interface import Hypothesis, Request
from hark.errors import UserError
from hark.text.address import Formality
from hark.text.phrases import Phrases
from hark.translate.load import Loaded
from hark.translate.piece import Options
from hark.translate.translator import Translator
from tests.translate.bundles import make_bundle
from tests.translate.stub import Reply, Stub, formal_tokenizer, hypothesis

LETTER = "Hi Anna, you can see the house. It is old. Can you run to the tree?"


def translator(
    answer: Reply = lambda text, _: text, target: str = "de", symbols: bool = True
) -> tuple[Translator, Stub]:
    engine = Stub(answer)
    if symbols:
        engine.vocabulary = formal_tokenizer()
    config = Config(data=DataConfig(source="en", target=target), batches=BatchConfig(max_length=60))
    return Translator(engine, engine.vocabulary, engine.vocabulary, config), engine


def ask(text: str, formality: Formality | None, answer: Reply = lambda text, _: text) -> list[str]:
    """What the engine is asked for a text, in the order of the text."""
    made, engine = translator(answer)
    made.translate(text, Options(formality=formality, detect=False))
    return sorted(engine.asked, key=lambda each: text.find(each.split("> ")[-1]))


def test_only_sentences_that_address_somebody_have_the_symbol() -> None:
    found = ask(LETTER, "formal")
    assert found == ["<formal> Hi Anna, you can see the house.", "It is old.", "<formal> Can you run to the tree?"]
    assert ask("You are here.", "informal") == ["<informal> You are here."]


def test_auto_chooses_one_form_for_the_text() -> None:
    assert ask(LETTER, "auto")[0].startswith("<informal>")
    assert ask(LETTER.replace("Hi Anna, you", "You"), "auto")[0].startswith("<formal>")
    assert ask("Can you see the house? It is old.", "auto") == ["Can you see the house?", "It is old."]
    assert ask(LETTER, None)[0] == "Hi Anna, you can see the house."


def test_a_translation_in_the_other_form_is_asked_for_again() -> None:
    def answer(text: str, _: object) -> str:
        return "Die Katze sieht Sie." if text.startswith("<formal>") else "Die Katze sieht dich."

    made, engine = translator(answer)
    assert made.translate("The cat sees one.", Options(formality="formal", detect=False)).text == "Die Katze sieht Sie."
    assert engine.asked == ["The cat sees one.", "<formal> The cat sees one."]
    made, engine = translator(lambda *_: "Die Katze sieht dich.")  # in vain
    assert (
        made.translate("The cat sees one.", Options(formality="formal", detect=False)).text == "Die Katze sieht dich."
    )
    made, engine = translator(lambda *_: "Die Katze.")
    made.translate("The cat.", Options(formality="formal", detect=False))
    assert engine.asked == ["The cat."]


@pytest.mark.parametrize(
    "text", ["<formal>", "You see <formal> here.", "<formal> You see it.", "a <informal>b</informal>"]
)
@pytest.mark.parametrize("formality", ["informal", None])
def test_a_typed_symbol_is_text(text: str, formality: Formality | None) -> None:
    symbols = formal_tokenizer().address_symbols
    for protect in (True, False):
        made, engine = translator(lambda asked, _: asked.removeprefix("<informal> "))
        done = made.translate(text, Options(formality=formality, detect=False, protect=protect))
        if protect:
            assert done.text == text
        for request in engine.requests:
            assert symbols["formal"] not in request.source
            assert symbols["informal"] not in request.source[1:]


def test_word_links_and_flags_are_those_without_the_symbol() -> None:
    text = "You see the old house, which is {name} in the tree."
    results = []
    forms: tuple[Formality | None, ...] = (None, "informal")
    for formality in forms:
        shift = 1 if formality else 0

        def answer(text: str, request: Request, shift: int = shift) -> Hypothesis:
            found = hypothesis(text.removeprefix("<informal> "), request)
            assert found.attention_TS is not None
            found.attention_TS[:] = np.roll(found.attention_TS, shift, axis=1)
            return found

        made, _ = translator(answer)
        results.append(made.translate(text, Options(formality=formality, align=True, detect=False)))
    plain, informal = results
    assert plain.links
    assert plain.links == informal.links
    assert (plain.text, plain.flags, plain.score) == (informal.text, informal.flags, informal.score)


def test_repeated_sentences_are_translated_once_for_each_form() -> None:
    made, engine = translator()
    forms: tuple[Formality | None, ...] = ("formal", "informal", "formal", None)
    for formality in forms:
        made.translate("You are here.", Options(formality=formality, detect=False))
    assert engine.asked == ["<formal> You are here.", "<informal> You are here.", "You are here."]


def test_a_phrase_of_the_other_form_is_not_used() -> None:
    table = Phrases([{"How are you?": "Wie geht es dir?"}])
    cases: list[tuple[Formality | None, bool]] = [("formal", False), ("informal", True), (None, True)]
    for formality, known in cases:
        engine = Stub()
        engine.vocabulary = formal_tokenizer()
        config = Config(data=DataConfig(source="en", target="de"))
        made = Translator(engine, engine.vocabulary, engine.vocabulary, config, phrases=lambda *_: table)
        done = made.translate("How are you?", Options(formality=formality, detect=False))
        assert ("phrase" in done.flags) == known


def test_models_without_symbols() -> None:
    made, engine = translator(symbols=False)
    assert made.translate(LETTER, Options(formality="auto", detect=False)).text == LETTER
    assert not any("<" in each for each in engine.asked)
    with pytest.raises(UserError, match="this model cannot choose; leave it out, or name another model"):
        made.translate("a", Options(formality="formal"))
    made, _ = translator(target="en")
    with pytest.raises(UserError, match="formality informal: is not possible in English"):
        made.translate("a", Options(formality="informal"))
    assert made.translate("Can you see? Can you run?", Options(formality="auto", detect=False)).flags == ()


def test_python(tmp_path: Path) -> None:
    model = Loaded(make_bundle(tmp_path / "model", vocabulary=formal_tokenizer()), threads=1)
    text = "Hey, you see. Can you run?"
    assert model.translate(text).formality == "informal"
    assert model.translate(text, formality="formal").formality == "formal"
    assert model.translate(text, formality=None).formality is None
    assert [each.formality for each in model.translate([text, "It is old."])] == ["informal", None]
    assert model.choose_form(["You see.", "Can you run?"], "auto", "en", "de") == "formal"
    assert model.choose_form(["You see."], "auto", "en", "de") == "auto"
    with pytest.raises(UserError, match="formality rude: must be auto, formal or informal"):
        model.translate(text, formality="rude")
