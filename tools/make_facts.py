"""Add measurements to the facts of a model that comes with hark, and generate its card. No figure is typed by hand:

    python -m tools.make_facts BUNDLE --evaluation FILE ... [--report FILE] [--start BUNDLE ...] [--metrics FILE]
                                      [--corpora FILE]

--evaluation is what `hark evaluate BUNDLE --json` printed; several files, one for each source language for example,
count as one. --report is the report.json of its training dataset. --start names the models that training started from,
the first one first: their text is counted too. --metrics is the metrics.jsonl of the run, if it did not end at the
configured step. Corpora are described as in the facts of these models and of `seven`, or by --corpora, a TOML file with
a table for each new one: `[plays]`, what, licence, licence_url, attribution, url. Other facts (alignment heads,
weights, storage) are kept, and the manifest of the bundle is updated.
"""

import argparse
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hark import configfile
from hark.bundle import CONFIG, Bundle, fact_files, read_facts, write_files
from hark.card import LANGUAGES, join
from hark.errors import HarkError, UserError
from hark.facts import Facts, LanguagePair, MakingFacts, MeasuredScore, ScoreFacts, SetScores, TextFacts
from hark.models import named_folder, shipped_folder
from hark.train.metrics import read_metrics
from hark.weights import SCALE, read_weights

KINDS = {
    "europarl": "debates of the European Parliament",
    "tatoeba": "everyday sentences",
    "written": "sentences of daily life",
    "news": "news",
    "letters": "letters",
    "talk": "talk",
    "catalogues": "messages of programs",
    "manuals": "manuals and documentation",
    "prose": "guides",
    "games": "games",
    "medical": "medicine",
    "dictionary": "a dictionary",
}
"""Kinds of text, for the summary, by a corpus of that kind."""
HEADLINE = ("europarl-test", "tatoeba-test", "newstest2014")
"""Test sets in the summary, and first in the table of all, if the model was evaluated on them."""
GROWN = ", made larger by `tools/grow_model.py`"
LICENCE = "Apache-2.0"
TERMS = (
    "The model is licensed under Apache-2.0, like hark itself. If you pass it on, name the sources of the training "
    "text, as the table above does."
)
MEASURES = ("bleu", "chrf2", "ter")
Evaluation = Mapping[str, Any]
"""The tree of `hark evaluate --json`."""


def known_corpora(starts: Sequence[Facts], new: Mapping[str, Mapping[str, Any]]) -> dict[str, TextFacts]:
    """What is known of corpora, by name, in the order of the card."""
    models = (read_facts(shipped_folder() / "seven"), *starts)
    known = {each.name: each for facts in models for each in facts.text if each.licence}
    return known | {name: TextFacts(name, **about) for name, about in new.items()}


def training_text(
    bundle: Bundle, report: Mapping[str, Any] | None, starts: Sequence[Facts], known: Mapping[str, TextFacts]
) -> tuple[TextFacts, ...]:
    """The training corpora in the facts, which may differ from those in the recipe, and those of the models that
    training started from. All must be known, because each must be attributed."""
    facts = bundle.facts
    names = {each.name for made in (*starts, facts) for each in made.text}
    unknown = sorted(names - set(known))
    first = starts[0] if starts else facts
    unknown += [f"the text of {each.name}" for each in first.making.parents if each.role == "start"]
    if unknown or not names:
        raise UserError(
            f"{bundle.folder}: trained on {', '.join(unknown) or 'text that its facts do not name'}, whose licence is "
            f"not known; describe it with --corpora; known corpora: {', '.join(known)}"
        )
    kept: Counter[str] = Counter()
    for each in (report or {}).get("corpora", []):
        kept[without_languages(each["name"], facts.pairs) if bundle.config.data.many else each["name"]] += each["kept"]
    counted = {each.name: kept.get(each.name, each.pairs) for made in (*starts, facts) for each in made.text}
    return tuple(replace(corpus, pairs=counted[name]) for name, corpus in known.items() if name in names)


def without_languages(name: str, pairs: Sequence[LanguagePair]) -> str:
    """The name of a corpus of a many-to-many dataset in its recipe: `europarl` of `europarl.en-fr`."""
    suffixes = (f".{source}-{target}" for source, target in pairs)
    return next((name.removesuffix(suffix) for suffix in suffixes if name.endswith(suffix)), name)


def poorer_languages(bundle: Bundle, kinds: Sequence[str]) -> str:
    """Sentences about the languages of a many-to-many model that have read few of these kinds of text."""
    read: dict[str, set[str]] = {}
    for corpus in bundle.config.data.train:
        for language in corpus.languages:
            read.setdefault(language, set()).add(KINDS.get(corpus.name.partition("-")[0], ""))
    alike: dict[tuple[str, ...], list[str]] = {}
    for language, found in read.items():
        if (known := tuple(kind for kind in kinds if kind in found)) and len(known) <= len(kinds) / 2:
            alike.setdefault(known, []).append(LANGUAGES.get(language, language))
    return "".join(
        f"In {join(languages)} it has read only {join(known)}; the other kinds come out badly there. "
        for known, languages in alike.items()
    )


def scores_of(evaluations: Sequence[Evaluation], report: Mapping[str, Any] | None) -> ScoreFacts:
    sets = [set_scores(each) for evaluation in evaluations for each in evaluation["sets"]]
    signatures = {name: text for each in evaluations for name, text in each["signatures"].items() if name in MEASURES}
    removed = {each["name"] for each in report["held_out"]} if report and report["clean"]["held_out"] else set()
    return ScoreFacts(
        signatures,
        tuple(sorted(sets, key=lambda each: (*HEADLINE, each.name).index(each.name))),
        resamples=evaluations[0]["resamples"],
        held_out={each.name for each in sets} <= removed,
    )


def set_scores(of_set: Mapping[str, Any]) -> SetScores:
    """The scores of the model, which is the first system."""
    pair = tuple(of_set["languages"]) if "languages" in of_set else None
    scores = of_set["systems"][0]["scores"].items()
    measured = {name: MeasuredScore(of["score"], of["confidence"]) for name, of in scores if name in MEASURES}
    name = without_languages(of_set["name"], [pair] if pair else [])
    return SetScores(name, of_set["sentences"], measured, pair=pair)


def making_of(bundle: Bundle, starts: Sequence[Facts], steps: int | None) -> MakingFacts:
    """`steps`: of the run, if it ended earlier or later than it was configured to."""
    config, making = bundle.config, bundle.facts.making
    parameters = sum(each.size for name, each in read_weights(bundle.weights).items() if not name.endswith(SCALE))
    made_by, parents = making.tool, making.parents
    if starts:
        start = starts[-1].making
        made_by = (
            f"Training started from a model of {start.parameters or 0:,} weights and {start.steps or 0:,} steps of "
            f"{start.step_tokens or 0:,} tokens{GROWN if parameters != start.parameters else ''}."
        )
        parents = tuple(each for each in parents if each.role != "start")
    return replace(
        making,
        parameters=parameters,
        steps=steps or config.train.steps,
        step_tokens=config.batches.batch_tokens * config.train.batches_per_step,
        variants={name: share for name, share in vars(config.data.augment).items() if share},
        parents=parents,
        tool=made_by,
    )


def make_facts(
    bundle: Bundle,
    evaluations: Sequence[Evaluation],
    report: Mapping[str, Any] | None,
    starts: Sequence[Facts],
    steps: int | None,
    new: Mapping[str, Mapping[str, Any]],
) -> Facts:
    text = training_text(bundle, report, starts, known_corpora(starts, new))
    kinds, scores = [KINDS[each.name] for each in text if each.name in KINDS], scores_of(evaluations, report)
    return replace(
        bundle.facts,
        title=bundle.facts.title or next((each.title for each in starts), ""),
        summary=f"Small and fast: {headline_of(scores)}. Trained on {join(kinds)}.",
        licence=LICENCE,
        licence_terms=TERMS,
        limits=(
            f"It has read {join(kinds)}. {poorer_languages(bundle, kinds)}"
            "Other text (law, trade, slang, verse) is translated less well, and words that "
            "its training text lacks may come out wrong without warning. "
            "It translates sentence by sentence, so it does not know what a pronoun refers to in an earlier sentence. "
            "It may repeat prejudices of its training text. Do not rely on it where a mistake does harm."
        ),
        text=text,
        scores=scores,
        making=making_of(bundle, starts, steps),
    )


def headline_of(scores: ScoreFacts) -> str:
    """BLEU on the headline sets; the mean of all directions, if there are several."""
    by_name: dict[str, list[float]] = {}
    for each in [each for each in scores.sets if each.name in HEADLINE] or scores.sets:
        by_name.setdefault(each.name, []).append(each.scores["bleu"].score)
    means = ", ".join(f"{sum(values) / len(values):.1f} ({name})" for name, values in by_name.items())
    most = max(map(len, by_name.values()))
    return f"BLEU {means}" if most == 1 else f"mean BLEU of up to {most} directions {means}"


def read_json(file: Path, kind: str = "") -> Any:
    try:
        tree = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: cannot be read: {error}") from None
    if kind and tree.get("kind") != kind:
        raise UserError(f"{file}: not a {kind}")
    return tree


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", help="folder or name")
    parser.add_argument("--evaluation", type=Path, nargs="+", required=True, metavar="FILE.json")
    parser.add_argument("--report", type=Path, metavar="FILE.json", help="report of its training dataset")
    parser.add_argument("--start", action="append", default=[], metavar="BUNDLE", help="training started from it")
    parser.add_argument("--metrics", type=Path, metavar="FILE.jsonl", help="metrics of its run: the last step")
    parser.add_argument("--corpora", type=Path, metavar="FILE.toml", help="descriptions of new corpora")
    said = parser.parse_args()
    try:
        bundle = Bundle.open(named_folder(said.bundle))
        facts = make_facts(
            bundle,
            [read_json(file, "hark evaluation") for file in said.evaluation],
            read_json(said.report) if said.report else None,
            [Bundle.open(named_folder(each)).facts for each in said.start],
            read_metrics(said.metrics).train[-1].step if said.metrics else None,
            tomllib.loads(said.corpora.read_text(encoding="utf-8")) if said.corpora else {},
        )
        # The corpora lie on the machine that trained; a hundred kilobytes of their names would slow every start.
        config = replace(bundle.config, data=replace(bundle.config.data, train=(), dev=(), test=()))
        write_files(bundle, {CONFIG: configfile.dump(config).encode(), **fact_files(facts, config)})
    except HarkError as error:
        sys.exit(f"make_facts: {error}")
    sys.stdout.write(f"{bundle.folder}\n")


if __name__ == "__main__":
    main()
