"""Looking inside a many-to-many model: the language tag is part of its input."""

import pytest

from hark.cli.heads import Asked, choose_languages, heads, read
from hark.cli.look import load_for
from hark.errors import UserError
from hark.inspect.look import look_inside
from hark.inspect.recording import record
from hark.translate.load import Loaded
from tests.trilingual import SENTENCES, say, split_sentences

SENTENCE = split_sentences()[0][0]


@pytest.fixture(scope="module")
def model(many_run):
    return Loaded(many_run.best)


@pytest.mark.parametrize("target", ["de", "fr"])
def test_a_recording_begins_with_the_tag(target, model):
    recording = record(model, say(SENTENCE, "en"), "en", target, beam=1)
    assert recording.translation == say(SENTENCE, target)
    assert recording.languages == ("en", target)
    assert recording.source_ids[0] == model.source_vocabulary.tag(target)
    assert recording.source.tokens[0] != recording.source.tokens[1]
    assert not recording.notes


def test_the_page_of_a_sentence(model):
    page, recording = look_inside(model, say(SENTENCE, "de"), changes=1, target="fr", beam=1)
    assert recording.languages == ("de", "fr")
    assert recording.translation == say(SENTENCE, "fr")
    assert recording.translation in page.html


def test_the_command_line_resolves_the_languages(many_run):
    text = say(SENTENCE, "de")
    loaded, source, target = load_for(text, None, str(many_run.path), None, "fr-CA")
    assert (source, target) == ("de", "fr")
    with pytest.raises(UserError, match="this model translates to de, en, fr; choose one with -t"):
        load_for(text, None, str(many_run.path), None, None)
    assert load_for(None, "anaphora", str(many_run.path), None, "de")[1:] == ("en", "de")
    assert loaded.languages.several
    assert load_for("x", None, str(many_run.path), None, "de")[1:] in ((None, "de"), ("en", "de"), ("fr", "de"))


@pytest.fixture
def files(tmp_path):
    for language in ("en", "fr"):
        lines = "".join(say(each, language) + "\n" for each in SENTENCES[:30])
        (tmp_path / f"test.{language}").write_text(lines, encoding="utf-8")
    return str(tmp_path / "test.en"), str(tmp_path / "test.fr")


def test_heads_are_measured_with_the_tag(model, files):
    languages = choose_languages(model, "en", "fr")
    corpus, _ = read(model, languages, Asked(files, sentences=30))
    assert {each.source[0] for each in corpus.examples} == {model.source_vocabulary.tag("fr")}
    with pytest.raises(UserError, match="this model translates from en, de, fr; choose one with -s"):
        choose_languages(model, None, "fr")


def test_words_are_aligned_beside_the_tag(many_run, files, tmp_path, capsys):
    """The gold alignment is word for word; the heads of the only layer find most of it."""
    (tmp_path / "gold").write_text("1-1 2-2 3-3 4-4\n" * 30)
    heads(str(many_run.path), files, source="en", target="fr", gold=tmp_path / "gold", sentences=30, device="cpu")
    assert "30 pairs" in capsys.readouterr().out
