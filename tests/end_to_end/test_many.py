"""A many-to-many model from text to translations: one model, three languages, six directions."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

import hark
from hark.card import render
from hark.data import Dataset, prepare
from hark.errors import UserError
from hark.train.metrics import read_metrics
from hark.train.records import DevRecord, TrainRecord
from tests.cli.running import make_runner
from tests.trilingual import DIRECTIONS, say, split_sentences, toy_config, train_toy, write_corpus

HELD = split_sentences()[0]
CHEAP = {"threads": 1, "engine": "ctranslate2"}


@pytest.fixture(scope="module")
def model(many_run):
    return hark.load(many_run.best, **CHEAP)


def run_hark(*arguments, text=""):
    command = [sys.executable, "-m", "hark", *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=600)


def test_its_facts_list_every_direction(model, many_dataset):
    assert sorted(model.facts.pairs) == DIRECTIONS
    assert model.facts.vocabulary.language_tags == "source"
    assert [(each.name, each.pairs) for each in model.facts.text] == [("toy", 540)]
    card = render(model.facts, model.config.model)
    assert "- Languages: de, en and fr, in all 6 directions" in card
    assert "selected by a tag at the start of the source" in card
    assert model.config.data.many
    assert len(many_dataset.shards("dev")) == 6


def test_dev_losses_are_logged_by_direction(many_run):
    history = read_metrics(many_run.metrics)
    sets = {record.set for record in history.records if isinstance(record, DevRecord)}
    assert sets == {f"dev.{one}-{other}" for one, other in DIRECTIONS}


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_it_translates_unseen_sentences_in_every_direction(source, target, model):
    texts = [each.text for each in model.translate([say(each, source) for each in HELD], source=source, target=target)]
    right = [text == say(each, target) for text, each in zip(texts, HELD, strict=True)]
    assert sum(right) >= 11, texts


def test_the_tag_chooses_the_language(model):
    sentence = HELD[0]
    into = {target: model.translate(say(sentence, "en"), target=target).text for target in ("de", "fr")}
    assert into == {target: say(sentence, target) for target in ("de", "fr")}


def test_the_source_language_is_detected_for_each_text(model):
    texts = [say(each, language) for each, language in zip(HELD, ("en", "de", "en", "de"), strict=False)]
    translations = [each.text for each in model.translate(texts, target="fr")]
    assert translations == [say(each, "fr") for each in HELD[:4]]


def test_sentences_in_other_languages(model):
    """Those that the model knows are translated; others, and those in the target language, are kept."""
    english = "The weather is very nice today, and we are going for a walk."
    german = "Das Wetter ist heute sehr schön, und wir gehen spazieren."
    french = "Il fait très beau aujourd'hui et nous allons nous promener."
    polish = "Dzisiaj jest bardzo ładna pogoda i idziemy na spacer."
    result = model.translate(" ".join((english, german, french, polish)), target="fr")
    kept = ["language" in sentence.flags for sentence in result.sentences]
    assert kept == [False, False, True, True]
    assert result.text.endswith(f"{french} {polish}")
    given = model.translate(f"{english} {german}", source="en", target="fr")
    assert ["language" in sentence.flags for sentence in given.sentences] == [False, True]


def test_languages_by_region_and_unknown_ones(model):
    text = say(HELD[0], "en")
    assert model.translate(text, source="en-GB", target="fr-CA").text == say(HELD[0], "fr")
    with pytest.raises(UserError, match="this model translates to de, en, fr; choose one with -t"):
        model.translate(text)
    with pytest.raises(UserError, match="it: this model translates only to de, en, fr; choose one of them"):
        model.translate(text, target="it")
    with pytest.raises(UserError, match="it: this model translates only from en, de, fr; choose one of them"):
        model.translate(text, target="fr", source="it")


def test_alignment_does_not_link_to_the_tag(model):
    result = model.translate(say(HELD[0], "en"), source="en", target="de", align=True)
    words = result.source.split()
    linked = [result.source[slice(*link.source)] for link in result.links]
    assert len(linked) == 4
    assert set(linked) <= set(words)


def test_scores_depend_on_the_target(model):
    source, german, french = (say(HELD[0], language) for language in ("en", "de", "fr"))
    pairs = [(source, german), (source, french)]
    to_german, to_french = (list(model.score(pairs, target=target)) for target in ("de", "fr"))
    assert to_german[0] > to_german[1] + 5
    assert to_french[1] > to_french[0] + 5
    with pytest.raises(UserError, match="choose one with -t"):
        list(model.score(pairs))


def test_both_engines_agree(many_run, model):
    texts = [say(each, "de") for each in HELD[:4]]
    torch_model = hark.load(many_run.best, engine="torch", device="cpu")
    one, other = (
        [each.text for each in loaded.translate(texts, source="de", target="en")] for loaded in (model, torch_model)
    )
    assert one == other


@pytest.fixture
def here(tmp_path, monkeypatch, capfd):
    """A function that runs a command in this process."""
    return lambda verb, *words: make_runner(verb, tmp_path, {}, monkeypatch, capfd)(*map(str, words))


def test_the_command_line(many_run, here):
    german = run_hark("translate", "-m", many_run.path, "-t", "de", "--threads", "1", say(HELD[0], "en"))
    assert (german.returncode, german.stdout) == (0, say(HELD[0], "de") + "\n"), german.stderr
    wrong = here("translate", "-m", many_run.path, "-t", "it", say(HELD[0], "en"))
    assert wrong.returncode == 2
    assert "translates de, en and fr, in all 6 directions, not en to it" in wrong.stderr
    none = here("translate", "-m", many_run.path, say(HELD[0], "en"))
    assert none.returncode == 2
    assert none.stderr == "hark: this model translates to de, en, fr; choose one with -t\n"


def test_an_installed_model_is_chosen_by_language(many_run, monkeypatch, here):
    monkeypatch.setenv("HARK_MODELS", str(many_run.path))
    listed = json.loads(here("models", "--json").stdout)[0]
    assert sorted(tuple(pair) for pair in listed["pairs"]) == DIRECTIONS
    assert "de, en and fr, in all 6 directions" in here("models").stdout
    done = run_hark("translate", "-t", "fr", "--threads", "1", say(HELD[0], "de"))
    assert (done.returncode, done.stdout) == (0, say(HELD[0], "fr") + "\n"), done.stderr


def losses(run):
    return {each.step: each.loss for each in read_metrics(run.metrics).records if isinstance(each, TrainRecord)}


def test_resume_is_exact_with_temperature(tmp_path):
    """On directions of different sizes, so that temperature changes the stream."""
    config = toy_config(tmp_path)
    few = write_corpus(tmp_path, "few", split_sentences()[1][:20], ("en", "fr"))
    config = replace(config, data=replace(config.data, train=(config.data.train[0], few), vocab_size=400))
    dataset = prepare(config, tmp_path / "dataset", processes=1).dataset
    settings = ("train.log_steps=1", "train.save_steps=3", "train.steps=6", "batches.batch_tokens=300")
    flat = train_toy(dataset, tmp_path / "flat", *settings)
    whole = train_toy(dataset, tmp_path / "whole", *settings, "batches.temperature=3")
    part = train_toy(dataset, tmp_path / "part", *settings, "batches.temperature=3", "train.steps=3")
    with pytest.raises(UserError, match=r"batch settings \(.*temperature.*\) changed"):
        train_toy(dataset, part.path, *settings, "batches.temperature=2", resumed=True)
    train_toy(dataset, part.path, *settings, "batches.temperature=3", resumed=True)
    assert losses(part) == losses(whole) != losses(flat)
    assert len(losses(whole)) == 6


def test_reverse_is_refused(many_dataset, here):
    refused = here("train", f"data.dataset={many_dataset.folder}", "data.reverse=true")
    assert refused.returncode == 2
    assert "has both directions of every pair; leave out data.reverse" in refused.stderr


def test_fine_tuning_needs_text_with_tags(many_run, many_dataset, dataset, tmp_path):
    def tune(opened):
        settings = (f"train.from={many_run.best}", "train.steps=1")
        return train_toy(opened, tmp_path / "run", *settings)

    needs = r"has text without language tags, but .* needs the target's language tag before each source; prepare it"
    with pytest.raises(UserError, match=needs):
        tune(Dataset.open(dataset))
    assert losses(tune(many_dataset))[1] < 1.5  # starts where the model stopped
