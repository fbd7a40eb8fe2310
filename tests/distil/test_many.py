"""Distillation of many-to-many datasets, and by many-to-many teachers."""

from dataclasses import replace

import pytest

from hark import configfile
from hark.config import CorpusConfig
from hark.data import Dataset, prepare
from hark.distil.distil import choose_directions, distil
from hark.errors import UserError
from hark.translate.load import Loaded
from tests.distil.test_distil import lines, teacher
from tests.translate.bundles import make_bundle
from tests.trilingual import DIRECTIONS, WORDS, say, split_sentences, toy_config

REST = split_sentences()[1]


def test_a_teacher_of_one_pair_takes_its_direction(many_dataset, tmp_path):
    """The stub of a teacher gets the sources without the tags of the dataset, which it does not know."""
    bundle = make_bundle(tmp_path / "teacher")
    model = teacher(many_dataset, bundle, lambda text: f"{text} !", source="de", target="fr")
    result = distil(model, many_dataset, tmp_path / "out", model.config.decode, processes=1)
    assert sorted(path.name for path in (tmp_path / "out").glob("toy*")) == ["toy.de-fr.de", "toy.de-fr.fr"]
    assert lines(tmp_path / "out/toy.de-fr.de") == [say(each, "de") for each in REST]
    assert lines(tmp_path / "out/toy.de-fr.fr") == [say(each, "de") + " !" for each in REST]
    assert result.record.pairs == len(REST)


@pytest.fixture(scope="module")
def distilled(many_run, many_dataset, tmp_path_factory):
    folder = tmp_path_factory.mktemp("distilled") / "out"
    loaded = Loaded(many_run.best, engine="ctranslate2", threads=1)
    search = replace(loaded.config.decode, beam=1)
    assert distil(loaded, many_dataset, folder, search, limit=12, processes=1).new_pairs == 72
    assert distil(loaded, many_dataset, folder, search, limit=12, processes=1).new_pairs == 0  # complete
    return folder


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_many_to_many_teacher_translates_every_direction(source, target, distilled):
    name = f"toy.{source}-{target}"
    assert lines(distilled / f"{name}.{source}") == [say(each, source) for each in REST[:12]]
    words = {word for part in WORDS[target] for word in part.split()}
    translated = lines(distilled / f"{name}.{target}")
    right = sum(text == say(each, target) for text, each in zip(translated, REST, strict=False))
    assert right >= 11, translated
    assert {word for text in translated for word in text.split()} <= words


def test_distilled_text_is_prepared_in_one_direction(distilled, tmp_path):
    """A student learns from the teacher's translations, and not to translate them back."""
    train = tuple(
        CorpusConfig(
            *(str(distilled / f"toy.{one}-{other}.{code}") for code in (one, other)), languages=(one, other), both=False
        )
        for one, other in DIRECTIONS
    )
    config = toy_config(tmp_path)
    config = replace(config, data=replace(config.data, train=train, vocab_size=340))
    dataset = prepare(config, tmp_path / "dataset", processes=1).dataset
    assert sorted(shard.name for shard in dataset.shards("train")) == [f"toy.{one}-{two}" for one, two in DIRECTIONS]
    assert len(dataset.shards("dev")) == 6  # dev sets have both directions
    both = replace(config.data, train=(replace(train[0], both=True), train[0]))
    with pytest.raises(UserError, match=r"another corpus is also named toy.de-en; set a different name"):
        prepare(replace(config, data=both), tmp_path / "other", processes=1)


def test_a_teacher_without_the_languages_is_refused(many_run, dataset, tmp_path):
    loaded = Loaded(many_run.best, engine="ctranslate2", threads=1)
    assert choose_directions(loaded, Dataset.open(dataset)).manifest.source == "en"  # a dataset of one known pair
    settings = replace(toy_config(tmp_path).data, vocab_size=340)
    italian = tuple(replace(each, languages=("it", "nl")) for each in settings.train[:1])
    config = replace(configfile.load(None), data=replace(settings, train=italian, dev=(), test=()))
    other = prepare(config, tmp_path / "dataset", processes=1).dataset
    with pytest.raises(UserError, match=r"has no direction that the teacher translates \(de, en and fr"):
        choose_directions(loaded, other)
