"""Augmentation: what variants look like, how many there are, and what they never change."""

import json
import unicodedata
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.config import AugmentConfig, CleanConfig, Config, CorpusConfig, DataConfig
from hark.data import Dataset, prepare
from hark.data.augment import QUOTES, Augmenter, Swap, Variant, requote, type_plainly, vary
from hark.data.swaps import WORD

from .material import pairs, prepare_variants, write


@pytest.mark.parametrize(
    ("variant", "source", "target", "varied"),
    [
        ("lower", "Where is Tom?", "Wo ist Tom?", ("where is tom?", "Wo ist Tom?")),
        ("upper", "The street.", "Die Straße.", ("THE STREET.", "DIE STRASSE.")),
        ("unpunctuated", "Where is Tom?", "Wo ist Tom?!", ("Where is Tom", "Wo ist Tom")),
        ("unpunctuated", "Where is Tom ?", "Où est Tom ?", ("Where is Tom", "Où est Tom")),
        ("unpunctuated", "I have 3.5 kg...", "Ich habe 3,5 kg …", ("I have 3.5 kg", "Ich habe 3,5 kg")),
        ("hasty", "Where is Tom?", "Wo ist Tom?", ("where is tom", "Wo ist Tom")),
        (
            "names",
            "Yesterday Anna Maria Schmidt wrote.",
            "Gestern schrieb Anna Maria Schmidt.",
            ("Anna Maria Schmidt",) * 2,
        ),
        ("names", "Mr Müller lives in Bonn.", "Herr Müller wohnt in Bonn.", ("Müller",) * 2),
        ("names", "Jean-Luc O'Neill (the driver) spoke.", "Es sprach Jean-Luc O'Neill.", ("Jean-Luc O'Neill",) * 2),
        ("names", "Was it Tom?", "Was ist mit Tim?", None),
        ("names", "I went home.", "Ich ging heim.", None),
        ("names", "Anna Schmidt", "Anna Schmidt", None),
        ("lower", "all small", "alles klein", None),
        ("upper", "NATO", "die Nato", None),
        ("unpunctuated", "Good morning", "Guten Morgen.", None),
        ("unpunctuated", 'He said "yes."', "Er sagte ja.", None),
        ("unpunctuated", "?", "?", None),
        ("hasty", "all small.", "alles klein.", None),
        ("hasty", "No stop", "Kein Punkt", None),
    ],
)
def test_variants(variant, source, target, varied):
    assert vary(variant, source, target) == varied


@given(st.sampled_from(get_args(Variant)), st.text(), st.text())
def test_a_variant_keeps_the_words(variant, source, target):
    varied = vary(variant, source, target)
    if varied is not None:
        assert varied[0] != source
        assert all(varied)
        for before, after in zip((source, target), varied, strict=True):
            if variant == "names":
                assert set(after.split()) <= set(WORD.findall(before))
            else:
                assert before.upper().startswith(after.upper())


def test_the_draw_depends_only_on_seed_and_chunk():
    sources, targets = zip(*pairs(400), strict=True)
    config = AugmentConfig(lower=0.3, unpunctuated=0.2)
    # The last word is a number, so only lowercasing changes anything.
    varied = Augmenter(config, 1)(5, sources, targets)
    again = Augmenter(config, 1)(5, sources, targets)
    assert (varied.sources, varied.targets) == (again.sources, again.targets)
    assert Augmenter(config, 1)(6, sources, targets).sources != varied.sources
    assert Augmenter(config, 2)(5, sources, targets).sources != varied.sources
    assert 80 < varied.counts["lower"] < 160
    assert varied.counts.total() == len(varied.sources) == len(varied.targets)
    lowered = dict(zip(map(str.lower, sources), targets, strict=True))
    assert all(lowered[source] == target for source, target in zip(varied.sources, varied.targets, strict=True))


@pytest.fixture
def config(tmp_path):
    """Settings for sentences that end in a full stop."""
    varied = [(f"{a.rpartition(' ')[0]}", f"{b.rpartition(' ')[0]}") for a, b in pairs(900)]
    corpora = {
        name: (CorpusConfig(*write(tmp_path, name, part)),)
        for name, part in (("train", varied[:850]), ("dev", varied[850:]), ("test", varied[:5]))
    }
    clean = CleanConfig(language=1.0, held_out=False)
    return Config(data=DataConfig(**corpora, vocab_size=350, clean=clean))


def sentences(dataset, role, side):
    (shard,) = dataset.shards(role)
    store = dataset.store(shard)
    return dataset.tokenizer(side).decode([store[i][side == "target"].tolist() for i in range(len(store))])


def test_variants_are_added_to_dataset_and_report(config, tmp_path):
    plain = prepare(config, tmp_path / "plain", processes=1).dataset
    augmented = replace(config, data=replace(config.data, augment=AugmentConfig(lower=0.5, upper=0.1, hasty=1.0)))
    dataset = prepare(augmented, tmp_path / "one", processes=1).dataset
    before, after = (list(zip(sentences(each, "train", "source"), sentences(each, "train", "target"), strict=True))
                     for each in (plain, dataset))  # fmt: skip
    assert after[: len(before)] == before
    extra = after[len(before) :]
    counts = dataset.report.total.augmented
    assert counts["hasty"] == len(before)
    assert 0.3 * len(before) < counts["lower"] < 0.7 * len(before)
    assert sum(counts.values()) == len(extra)
    assert {source.lower().rstrip(".") for source, _ in extra} <= {source.lower().rstrip(".") for source, _ in before}
    assert dataset.report.total.kept == plain.report.total.kept == len(before)
    assert dataset.report.total.read == plain.report.total.read
    assert dataset.report.total.source.tokens == dataset.shards("train")[0].source_tokens
    for role in ("dev", "test"):
        assert sentences(dataset, role, "source") == sentences(plain, role, "source")
    assert dataset.manifest.key != plain.manifest.key
    assert "augment" not in plain.manifest.settings
    assert f"hasty {counts['hasty']:,}" in (tmp_path / "one" / "report.html").read_text()
    assert "Augmentation" not in (tmp_path / "plain" / "report.html").read_text()


PEOPLE = ["Anna", "Jürgen", "Kowalczyk", "Priya", "Zoë"]
CORPORA = {
    "everyday": [(f"I saw Tom and {i} dogs.", f"Ich sah Tom und {i} Hunde.") for i in range(300)],
    "letters": [(f"We thank {each} for letter {i}.", f"Wir danken {each} für Brief {i}.")
                for i in range(100) for each in PEOPLE],
}  # fmt: skip


def test_variants_are_independent_of_the_number_of_processes(tmp_path):
    """Also names and words, which are found in all corpora first."""
    every = dict.fromkeys((*get_args(Variant), *get_args(Swap)), 0.5)
    one, two = (prepare_variants(tmp_path, CORPORA, processes, **every) for processes in (1, 2))
    assert one.report.total.augmented.keys() >= {"lower", "names", "renamed", "renumbered", "words"}
    assert one.manifest.checksums == two.manifest.checksums


def test_names_of_one_corpus_are_used_in_another(tmp_path):
    dataset = prepare_variants(tmp_path, CORPORA, renamed=1.0)
    store = dataset.store(dataset.shards("train")[0])
    texts = [dataset.tokenizer("target").decode([side.tolist() for side in store[i]]) for i in range(len(store))]
    renamed = texts[300:]
    assert 200 < len(renamed) <= 300
    for source, target in renamed:
        name = source.removeprefix("I saw ").split(" and ")[0]
        assert target.startswith(f"Ich sah {name} und ")
        assert name != "Tom"
    assert {each for each in PEOPLE if any(f"I saw {each} and" in source for source, _ in renamed)} == set(PEOPLE)


def test_an_older_report_has_no_variants(config, tmp_path):
    folder = tmp_path / "plain"
    prepare(config, folder, processes=1)
    tree = json.loads((folder / "report.json").read_text())
    for corpus in tree["corpora"]:
        del corpus["augmented"]
    (folder / "report.json").write_text(json.dumps(tree))
    assert Dataset.open(folder).report.total.augmented == {}


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("Schöne Grüße aus Österreich", "Schoene Gruesse aus Oesterreich"),
        ("I don’t know, it's Tom's.", "I dont know, its Toms."),
        ("L'élève a été à Noël", "Leleve a ete a Noel"),
        ("the '90s and 'yes'", None),
        ("Nothing to lose.", None),
    ],
)
def test_letters_become_those_of_a_plain_keyboard(source, plain):
    assert type_plainly(source, "x") == (None if plain is None else (plain, "x"))


@given(st.text())
def test_typed_text_has_no_marks_left(text):
    varied = type_plainly(text, "x")
    if varied is not None:
        assert varied[0]
        assert not any(unicodedata.combining(character) for character in varied[0])
        assert type_plainly(*varied) is None


@pytest.mark.parametrize(
    "source",
    ['Er sagte "Ja" und ging.', "Er sagte „Ja“ und ging.", "Er sagte « Ja » und ging.", "Er sagte »Ja« und ging."],
)
def test_quotations_get_every_kind_of_marks(source):
    varied = {requote(source, "x", np.random.default_rng(seed)) for seed in range(60)}
    expected = {(f"Er sagte {left}Ja{right} und ging.", "x") for left, right in QUOTES} - {(source, "x")}
    assert varied - {None} == expected


@pytest.mark.parametrize(
    "source", ["no quotation", 'a 5" screen', "Tom's book isn't here", 'an "open quotation', "a < b > c"]
)
def test_other_marks_stay(source):
    assert all(requote(source, "x", np.random.default_rng(seed)) is None for seed in range(20))
