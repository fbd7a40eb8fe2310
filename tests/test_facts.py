"""Facts survive a round trip through JSON, and errors in a file name the key."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hark.errors import UserError
from hark.facts import (
    MINOR,
    AlignmentFacts,
    Facts,
    LabelFacts,
    MakingFacts,
    MeasuredScore,
    OriginFacts,
    ParentModel,
    ParityProof,
    ScoreFacts,
    SetScores,
    ShortlistFacts,
    TextFacts,
    VocabularyFacts,
    dump_facts,
    load_facts,
    parse,
)

FULL = Facts(
    pairs=(("en", "de"), ("de", "en"), ("en", "fr"), ("fr", "en"), ("de", "fr"), ("fr", "de")),
    title="Three languages",
    summary="Small and quick.",
    licence="Apache-2.0",
    licence_terms="Name the sources.",
    limits="It knows nothing of physics.",
    vocabulary=VocabularyFacts("sentencepiece", "source", 1_000_000, {"#": 0, "+": 12}),
    alignment=AlignmentFacts(1, (0, 3), "reads", 0.2712345, 508, "gold"),
    text=(
        TextFacts("europarl", 1234567, "Debates", "", "", "European Parliament", ""),
        TextFacts("tatoeba", None, "Sentences", "CC BY 2.0 FR", "https://x.org/by", "Tatoeba", "https://tatoeba.org"),
    ),
    scores=ScoreFacts(
        {"bleu": "tok:13a", "chrf2": "nc:6"},
        (
            SetScores(
                "test",
                2000,
                {"bleu": MeasuredScore(25.864394601843166, 0.87), "chrf2": MeasuredScore(55.0)},
                ("en", "de"),
            ),
        ),
        resamples=1000,
        held_out=True,
    ),
    making=MakingFacts(
        weights="step 7",
        step=7,
        dev={
            "news": {"nll": 1.25, "perplexity": 3.4903, "BLEU": 12.34567},
            "talks": {"nll": 7.5, "perplexity": 1808.0},
        },
        parameters=1000,
        storage="int8",
        steps=7,
        step_tokens=25000,
        variants={"lower": 0.04},
        parents=(ParentModel("teacher", "big", 63084544, "6 + 6 layers"), ParentModel("start", "first")),
        tool="`tools/make_models.sh` makes it.",
    ),
    shortlist=ShortlistFacts(500, 12345),
    origin=OriginFacts("marian", "Helsinki-NLP/opus-mt-en-fr", "abc", "CC BY 4.0"),
    parity=(
        ParityProof("transformers 5.0", 100, 99, 1e-5, "beam 6", "import", "logits", 1e-3),
        ParityProof("x", 0, 0, skipped=True),
    ),
)


def test_facts_round_trip(tmp_path: Path) -> None:
    tagger = Facts(pairs=(), languages=("en",), labels=LabelFacts("words", ("NN", "VB")))
    for facts in (FULL, Facts(pairs=(("en", "de"),)), Facts(pairs=(), languages=("en",)), tagger):
        (tmp_path / "facts.json").write_text(dump_facts(facts))
        assert load_facts(tmp_path / "facts.json") == facts
    assert json.loads(dump_facts(Facts(pairs=(("en", "de"),)))) == {
        "format": 1,
        "minor": 7,
        "pairs": [["en", "de"]],
        "vocabulary": {"kind": "sentencepiece", "language_tags": "none"},
    }


def test_numbers_are_stored_in_full_precision() -> None:
    assert "25.864394601843166" in dump_facts(FULL)


def change(**changes: Any) -> str:
    tree = json.loads(dump_facts(FULL))
    for path, value in changes.items():
        *inner, last = path.split("__")
        at = tree
        for key in inner:
            at = at[int(key) if key.isdigit() else key]
        if value is ...:
            del at[last]
        else:
            at[last] = value
    return json.dumps(tree)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (change(colour="red"), r"colour: no such fact; choose from pairs, title"),
        (change(scores__sets__0__colour="red"), r"scores\.sets\[0\]\.colour: no such fact"),
        (change(pairs=...), "pairs: is missing"),
        (change(pairs=[]), "pairs: is empty"),
        (change(pairs=[["en", ""]]), "pairs: has an empty language code"),
        (change(pairs=[["en", "de", "fr"]]), r"pairs\[0\]: must have 2 items, not 3"),
        (change(pairs="en-de"), 'pairs: must be a list, not "en-de"'),
        (change(title=3), "title: must be text, not 3"),
        (change(labels={"of": "text", "names": ["a"]}), "labels.names: must be two or more, and all different"),
        (change(scores__resamples=True), "scores.resamples: must be a whole number, not true"),
        (change(scores__resamples=1.5), "scores.resamples: must be a whole number, not 1.5"),
        (change(scores__held_out=1), "scores.held_out: must be true or false, not 1"),
        (change(scores__sets__0__scores__bleu__score="x"), r"scores\.sets\[0\]\.scores\.bleu\.score: must be a number"),
        (change(scores__signatures=[]), r"scores\.signatures: must be an object, not \[\]"),
        (change(vocabulary__kind="wordpiece"), 'vocabulary.kind: must be sentencepiece or pieces, not "wordpiece"'),
        (change(alignment__heads=[]), "alignment.heads: must be indices of heads"),
        (change(alignment="4:1"), 'alignment: must be an object, not "4:1"'),
        (change(format=2), "format: 2 is not supported, only 1; update hark"),
        (change(format=...), "format: None is not supported"),
        ("[]", "file: must be a JSON object"),
        ("{", "file: not valid JSON"),
        (change(title="x").replace('"x"', "NaN"), "file: not valid JSON: NaN is not valid in JSON"),
    ],
)
def test_an_invalid_fact_is_a_one_line_error(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(text)
    with pytest.raises(UserError, match=rf"facts\.json: {message}") as refused:
        load_facts(path)
    assert "\n" not in str(refused.value)


def test_a_whole_number_is_accepted_for_a_float() -> None:
    facts = parse(change(alignment__error_rate=1))
    assert facts.alignment is not None
    assert type(facts.alignment.error_rate) is float


def test_keys_of_a_newer_hark_are_ignored_and_not_lost() -> None:
    newer = parse(change(minor=MINOR + 1, colour="red", scores__sets__0__colour="red"))
    assert newer.scores == FULL.scores
    with pytest.raises(UserError, match="update hark to change this model"):
        dump_facts(newer)


def test_keys_from_before_the_first_release_are_ignored() -> None:
    old = {"speed": {"cores": 2}, "everyday": {"lines": {}}, "scores__sets__0__teacher": {"bleu": {"score": 26.0}}}
    assert parse(change(**old)) == FULL


def test_unmeasured_drops_measurements() -> None:
    bare = FULL.unmeasured
    assert (bare.scores, bare.parity, bare.summary) == (None, (), "")
    assert (bare.unsure, bare.unsure_directions) == (None, {})
    assert (bare.text, bare.making) == (FULL.text, replace(FULL.making, step=None, dev={}))


def test_a_direction_may_have_a_threshold_of_its_own() -> None:
    facts = replace(FULL, unsure=0.5, unsure_directions={"it-nl": 0.9})
    assert parse(dump_facts(facts)) == facts
    assert (facts.unsure_above("it", "nl"), facts.unsure_above("nl", "it")) == (0.9, 0.5)
    assert FULL.unmeasured.unsure_above("en", "de") is None
