"""Many-to-many datasets: several pairs of languages, each in both directions, with language tags."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from hark.config import AugmentConfig, BatchConfig, CleanConfig, Config, CorpusConfig, DataConfig
from hark.data import Dataset, make_batches, prepare
from hark.data.batches import Corpus
from hark.data.plan import make_plan
from hark.data.report import DatasetReport
from hark.data.report_page import render
from hark.errors import UserError
from hark.settings import SettingError
from hark.text.tokenizer import SPECIAL
from tests.data.stores import realistic
from tests.trilingual import DIRECTIONS, LANGUAGES, PAIRS, SENTENCES, say, toy_config, write_corpus

CLEAN = CleanConfig(language=1.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("many")


@pytest.fixture(scope="module")
def config(folder):
    return toy_config(folder)


@pytest.fixture(scope="module")
def dataset(config, folder):
    return prepare(config, folder / "dataset", processes=1).dataset


def texts(dataset, shard):
    """The pairs of a shard as text, each source with its tag in front."""
    vocabulary, store = dataset.tokenizer("source"), dataset.store(shard)
    pairs = [[side.tolist() for side in store[row]] for row in range(len(store))]
    return [
        (vocabulary.pieces(source[:1])[0], vocabulary.decode_one(source[1:]), vocabulary.decode_one(target))
        for source, target in pairs
    ]


def test_each_corpus_is_encoded_in_both_directions(dataset):
    names = [(shard.name, shard.languages, shard.pairs) for shard in dataset.shards("train")]
    assert names == [(f"toy.{one}-{other}", (one, other), 180) for pair in PAIRS for one, other in (pair, pair[::-1])]
    assert {shard.name for shard in dataset.shards("dev")} == {f"dev.{one}-{other}" for one, other in DIRECTIONS}
    assert dataset.tokenizer("source").languages == LANGUAGES
    assert sorted(dataset.manifest.directions) == DIRECTIONS
    assert dataset.manifest.tagged


def test_a_source_begins_with_the_tag_of_its_target(dataset):
    forward, backward = dataset.shards("train")[:2]
    there, back = texts(dataset, forward), texts(dataset, backward)
    assert {tag for tag, _, _ in there} == {"<2de>"}
    assert {tag for tag, _, _ in back} == {"<2en>"}
    assert [(target, source) for _, source, target in back] == [(source, target) for _, source, target in there]
    assert forward.source_tokens == backward.target_tokens + forward.pairs  # the tags
    assert (forward.lead, forward.corpus) == (1, "toy")


def test_both_sides_may_begin_with_tags(config, dataset, tmp_path):
    """As in M2M100: the source with its own language, the target with its. Nothing else differs."""
    other = replace(config, data=replace(config.data, language_tags="target"))
    tagged = prepare(other, tmp_path / "dataset", processes=1).dataset
    assert (dataset.manifest.language_tags, tagged.manifest.language_tags) == ("source", "target")
    assert dataset.manifest.key != tagged.manifest.key
    assert tagged.report.total == dataset.report.total
    vocabulary = tagged.tokenizer("source")
    for ours, usual in zip(tagged.manifest.shards, dataset.manifest.shards, strict=True):
        leads = [vocabulary.tag(code) for code in ours.languages]
        assert tagged.prefix(ours) == (leads[1],)
        assert dataset.prefix(usual) == ()
        for (source, target), (before, after) in zip(tagged.store(ours), dataset.store(usual), strict=True):
            assert source.tolist() == [leads[0], *before[1:].tolist()]
            assert target.tolist() == [leads[1], *after.tolist()]
    with pytest.raises(SettingError, match="language_tags: none is not possible with many"):
        replace(config.data, language_tags="none")


def test_one_pair_may_have_tags(config, dataset, tmp_path):
    """The text of one direction of a many-to-many model, for fine-tuning it."""
    corpora = {role: replace(getattr(config.data, role)[0], languages=()) for role in ("train", "dev")}
    data = replace(
        config.data,
        many=False,
        language_tags="source",
        source=PAIRS[0][0],
        target=PAIRS[0][1],
        train=(corpora["train"],),
        dev=(corpora["dev"],),
        test=(),
        tokenizer=str(dataset.folder / "tokenizer.model"),
    )
    one = prepare(replace(config, data=data), tmp_path / "dataset", processes=1).dataset
    assert (one.manifest.directions, one.manifest.language_tags) == ((PAIRS[0],), "source")
    assert [(shard.name, shard.languages) for shard in one.shards("dev")] == [(f"dev.{'-'.join(PAIRS[0])}", PAIRS[0])]
    assert texts(one, one.shards("train")[0]) == texts(dataset, dataset.shards("train")[0])
    with pytest.raises(UserError, match=r"has language tags for one direction; leave out data\.reverse"):
        Dataset.open(one.folder, reverse=True)


def test_dev_sets_have_text_in_both_directions(dataset):
    shards = {shard.languages: shard for shard in dataset.shards("dev")}
    assert dataset.text(shards["de", "en"], "source") == dataset.text(shards["en", "de"], "target")
    assert texts(dataset, shards["de", "en"]) == [
        ("<2en>", source, target)
        for source, target in zip(
            dataset.text(shards["de", "en"], "source"), dataset.text(shards["de", "en"], "target"), strict=True
        )
    ]


def test_one_direction_of_a_dataset(dataset):
    narrow = dataset.towards("fr", "en")
    assert {shard.languages for shard in narrow.manifest.shards} == {("fr", "en")}
    assert (narrow.manifest.source, narrow.manifest.target) == ("fr", "en")
    assert [shard.name for shard in narrow.towards("fr", "en").shards("dev")] == ["dev.fr-en"]
    with pytest.raises(UserError, match="has no en to it; its languages are de, en, fr"):
        dataset.towards("en", "it")


def test_it_has_both_directions_already(dataset):
    with pytest.raises(UserError, match=r"has both directions of every pair; leave out data\.reverse"):
        Dataset.open(dataset.folder, reverse=True)


def test_it_opens_again_and_is_up_to_date(config, dataset):
    assert Dataset.open(dataset.folder).manifest == dataset.manifest
    assert not prepare(config, dataset.folder, processes=1).created


def test_the_number_of_processes_does_not_matter(config, dataset, folder):
    other = prepare(config, folder / "two-processes", processes=2).dataset
    assert other.manifest.checksums == dataset.manifest.checksums


def test_a_held_out_sentence_is_kept_out_of_every_pair(tmp_path):
    """The English side of an en-fr test set must not be in the English text of en-de, on whatever side."""
    held, rest = SENTENCES[:4], SENTENCES[4:]
    train = (write_corpus(tmp_path, "a", SENTENCES, ("en", "de")), write_corpus(tmp_path, "b", SENTENCES, ("de", "en")))
    test = (write_corpus(tmp_path, "test", held, ("en", "fr")),)
    data = DataConfig(many=True, train=train, test=test, vocab_size=330, clean=replace(CLEAN, duplicates=False))
    dataset = prepare(Config(data=data), tmp_path / "dataset", processes=1).dataset
    assert [corpus.dropped["held_out"] for corpus in dataset.report.corpora] == [4, 4]
    trained = {text for shard in dataset.shards("train") for _, *pair in texts(dataset, shard) for text in pair}
    assert not trained & {say(each, "en") for each in held}
    assert {say(each, "en") for each in rest} <= trained


def test_duplicates_are_of_one_pair_in_either_order(tmp_path):
    text = SENTENCES[:50]
    same = [write_corpus(tmp_path, "a", text, ("en", "de")), write_corpus(tmp_path, "b", text, ("de", "en"))]
    # The same text as a corpus of other languages is not a duplicate.
    same.append(replace(same[0], name="c", languages=("nl", "da")))
    data = DataConfig(many=True, train=tuple(same), vocab_size=330, clean=CLEAN, seed=2)
    with pytest.raises(UserError, match="duplicates dropped 50 of 50"):
        prepare(Config(data=data), tmp_path / "dataset", processes=1)
    data = replace(data, train=(same[0], same[2]))
    report = prepare(Config(data=data), tmp_path / "dataset", processes=1).dataset.report
    assert [corpus.dropped["duplicates"] for corpus in report.corpora] == [0, 0]


def test_variants_are_drawn_for_each_direction(tmp_path):
    config = toy_config(tmp_path, augment={"lower": 0.5, "words": 0.5})
    dataset = prepare(config, tmp_path / "dataset", processes=1).dataset
    forward, backward = (texts(dataset, shard)[180:] for shard in dataset.shards("train")[:2])
    assert {tag for tag, _, _ in forward} == {"<2de>"}
    assert {tag for tag, _, _ in backward} == {"<2en>"}
    english = {word for part in (say(each, "en") for each in SENTENCES) for word in part.split()}
    for _, source, _ in backward:  # in lower case, or a single word of the source language
        assert source == source.lower() or source not in english
    assert any(len(source.split()) == 1 for _, source, _ in backward)
    assert {source for _, source, _ in forward} != {target for _, _, target in backward}


def test_the_key_of_a_dataset_of_one_pair_is_unchanged(tmp_path):
    """Computed before many-to-many datasets existed."""
    for name, text in {"train": ("One.\nTwo.\n", "Eins.\nZwei.\n"), "dev": ("Three.\n", "Drei.\n")}.items():
        for language, side in zip(("en", "de"), text, strict=True):
            (tmp_path / f"{name}.{language}").write_text(side)

    def corpus(name, **settings):
        return CorpusConfig(str(tmp_path / f"{name}.en"), str(tmp_path / f"{name}.de"), **settings)

    data = DataConfig(train=(corpus("train", weight=2.0),), dev=(corpus("dev"),), vocab_size=300)
    assert make_plan(Config(data=data)).key == "51f7e215524db3644fc1ea4ba03119aba527b7fab7df65019f39363a5ab46bae"
    data = replace(data, augment=AugmentConfig(lower=0.5), bpe_dropout=0.1)
    assert make_plan(Config(data=data)).key == "615e2db2d469143696da99cc77dada0d9c5c2c19bf01c52145d216304cbc5823"


def test_data_source_and_target_do_not_matter(config):
    other = replace(config, data=replace(config.data, source="it", target="nl"))
    assert make_plan(other).key == make_plan(config).key


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"languages": ()}, r"train\[0\].languages: is empty; with many, name two codes"),
        ({"languages": ("en",)}, "languages: .* must be two language codes"),
        ({"languages": ("en", "../de")}, "languages: .* must be two language codes"),
        ({"languages": ("en", "en")}, "languages: both are en; name two languages"),
    ],
)
def test_every_corpus_names_two_languages(change, message, config):
    with pytest.raises(SettingError, match=message):
        replace(config.data, train=(replace(config.data.train[0], **change),))


def test_languages_of_another_pair_need_many(config):
    with pytest.raises(SettingError, match=r"train\[1\].languages: en to fr, but the dataset is en to de; set"):
        replace(config.data, many=False)
    with pytest.raises(SettingError, match="shared_vocab: false is not possible with many"):
        replace(config.data, shared_vocab=False)


def test_a_given_tokenizer_needs_all_tags(config, dataset):
    known = replace(config.data, tokenizer=str(dataset.folder / "tokenizer.model"))
    assert make_plan(replace(config, data=known)).tokenizers
    italian = replace(known, train=(replace(known.train[0], languages=("en", "it")),))
    with pytest.raises(UserError, match="no tag for it; available: de, en, fr"):
        make_plan(replace(config, data=italian))


def test_the_report_shows_directions(dataset):
    report = dataset.report
    assert [(each.source, each.target, each.pairs) for each in report.directions] == [
        (*pair, 180) for pair in DIRECTIONS
    ]
    assert list(report.languages) == list(LANGUAGES)
    assert sum(report.languages["en"].lengths) == 360
    assert [(each.name, each.role, each.pairs, each.directions) for each in report.held_out] == [
        ("dev", "dev", 72, 6),
        ("test", "test", 24, 6),
    ]
    assert DatasetReport.from_json(report.to_json()) == report
    summary = json.loads(report.to_json())["summary"]
    assert set(summary["characters_per_token"]) == set(LANGUAGES)
    html = render(report)
    assert "de, en, fr: 6 directions" in html
    assert "de to fr: 180 pairs" in html


def shares(batches, count):
    """The share of pairs of each corpus in the first batches."""
    drawn = Counter(corpus for number in range(count) for corpus in batches[number].pairs[:, 0].tolist())
    total = sum(drawn.values())
    return [drawn[corpus] / total for corpus in range(len(batches.pools))]


@pytest.mark.parametrize("kind", ["packed", "padded"])
@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
def test_directions_are_sampled_by_temperature(kind, temperature):
    """A direction with 1 / 16 of the pairs is sampled 1 / 4 as often at temperature 2."""
    corpora = [
        Corpus("large.en-de", 1.0, [realistic(6000)], ("en", "de")),
        Corpus("more.en-de", 2.0, [realistic(1000, seed=1)], ("en", "de")),  # 8,000 weighted pairs in all
        Corpus("small.en-fr", 1.0, [realistic(500, seed=2)], ("en", "fr")),
    ]
    config = BatchConfig(kind=kind, batch_tokens=2000, max_length=250, temperature=temperature)
    batches = make_batches(corpora, config, SPECIAL)
    small = 1 / 16 ** (1 / temperature)
    expected = np.array([0.75, 0.25, small]) / (1 + small)
    assert shares(batches, 2 * batches.batches_per_epoch) == pytest.approx(expected, rel=0.08)


def test_temperature_is_part_of_the_stream():
    def corpora(direction):
        return [Corpus("a", 1.0, [realistic(300)], ("en", "de")), Corpus("b", 1.0, [realistic(100, seed=1)], direction)]

    def fingerprint(temperature, direction=("en", "fr")):
        config = BatchConfig(batch_tokens=1000, max_length=250, temperature=temperature)
        return make_batches(corpora(direction), config, SPECIAL).fingerprint

    assert fingerprint(1.0) == fingerprint(1.0, None)
    assert fingerprint(2.0) != fingerprint(1.0)
    assert fingerprint(2.0, ("en", "de")) == fingerprint(1.0)  # one direction: nothing to balance
