"""Add measurements to the facts of a model that comes with hark, and generate its card.

No figure is typed by hand:

    python -m tools.make_facts BUNDLE --evaluation FILE [--everyday FILE] [--teacher BUNDLE] [--report FILE]
                                      [--start BUNDLE ...] [--metrics FILE]

--evaluation is the output of benchmarks/student.py or `hark evaluate BUNDLE [TEACHER] --json`, with the model first;
--everyday that of benchmarks/everyday.py; --report the report.json of its training dataset. --start names the models
that training started from, the first one first: their text is counted too. --metrics is the metrics.jsonl of the run,
if it did not end at the configured step. Other facts (alignment heads, weights, storage) are kept, and the manifest of
the bundle is updated. With -o, facts.json and card.md are written to a folder instead.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hark import configfile
from hark.bundle import CONFIG, Bundle, fact_files, name_of, write_files
from hark.card import LANGUAGES, describe_shape, join
from hark.errors import HarkError, UserError
from hark.facts import (
    EverydayFacts,
    Facts,
    Hits,
    LanguagePair,
    MakingFacts,
    MeasuredScore,
    ParentModel,
    ScoreFacts,
    SetScores,
    SetSpeed,
    SpeedFacts,
    SpellingScores,
    TextFacts,
)
from hark.models import named_folder
from hark.train.metrics import read_metrics
from hark.weights import SCALE, read_weights
from tools.corpora import CORPORA, base_name, describe_corpus, rank

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
"""Test sets in the summary, if the model was evaluated on them; the card has a table of all."""
TOOL_OF_RUNS = (
    "Training started from a model of {parameters:,} weights and {earlier:,} steps of {tokens:,} tokens{grown}."
)
GROWN = ", made larger by `tools/grow_model.py`"
LICENCE = "Apache-2.0"
TERMS = (
    "The model is licensed under Apache-2.0, like hark itself. If you pass it on, name the sources of the training "
    "text, as the table above does."
)
MEASURES = ("bleu", "chrf2", "ter")


@dataclass(frozen=True)
class Measured:
    """The measurements of a model."""

    evaluation: dict[str, Any]
    everyday: dict[str, Any] | None = None
    teacher: ParentModel | None = None
    report: dict[str, Any] | None = None
    starts: tuple[Facts, ...] = ()
    """Of the models that training started from, the first one first."""
    steps: int | None = None
    """Steps of the run, if it ended earlier or later than it was configured to."""


def count_weights(bundle: Bundle) -> int:
    return sum(each.size for name, each in read_weights(bundle.weights).items() if not name.endswith(SCALE))


def describe_teacher(bundle: Bundle) -> ParentModel:
    return ParentModel("teacher", name_of(bundle.folder), count_weights(bundle), describe_shape(bundle.config.model))


def training_text(bundle: Bundle, report: dict[str, Any] | None, starts: Sequence[Facts] = ()) -> tuple[TextFacts, ...]:
    """The training corpora in the facts, which may differ from those in the recipe, and those of the models that
    training started from. All must be known, because each must be attributed."""
    facts = bundle.facts
    names = list(dict.fromkeys(each.name for made in (*starts, facts) for each in made.text))
    known = {name: corpus for name in names if (corpus := describe_corpus(name))}
    unknown = [name for name in names if name not in known]
    first = starts[0] if starts else facts
    unknown += [f"the text of {each.name}" for each in first.making.parents if each.role == "start"]
    if unknown or not names:
        raise UserError(
            f"{bundle.folder}: trained on {', '.join(unknown) or 'text that its facts do not name'}, whose licence is "
            f"not known; known corpora: {', '.join(CORPORA)}"
        )
    kept: Counter[str] = Counter()
    for each in (report or {}).get("corpora", []):
        kept[without_languages(each["name"], facts.pairs) if bundle.config.data.many else each["name"]] += each["kept"]
    counted = {each.name: kept.get(each.name, each.pairs) for made in (*starts, facts) for each in made.text}
    return tuple(
        replace(corpus, pairs=counted[name]) for name, corpus in sorted(known.items(), key=lambda each: rank(each[0]))
    )


def without_languages(name: str, pairs: Sequence[LanguagePair]) -> str:
    """The name of a corpus of a many-to-many dataset in its recipe: `europarl` of `europarl.en-fr`."""
    suffixes = (f".{source}-{target}" for source, target in pairs)
    return next((name.removesuffix(suffix) for suffix in suffixes if name.endswith(suffix)), name)


def kinds_of_text(text: Sequence[TextFacts]) -> list[str]:
    return [KINDS[each.name] for each in text if each.name in KINDS]


def poorer_languages(bundle: Bundle, kinds: Sequence[str]) -> str:
    """Sentences about the languages of a many-to-many model that have read few of these kinds of text."""
    read: dict[str, set[str]] = {}
    for corpus in bundle.config.data.train:
        for language in corpus.languages:
            read.setdefault(language, set()).add(KINDS.get(base_name(corpus.name), ""))
    alike: dict[tuple[str, ...], list[str]] = {}
    for language, found in read.items():
        if (known := tuple(kind for kind in kinds if kind in found)) and len(known) <= len(kinds) / 2:
            alike.setdefault(known, []).append(LANGUAGES.get(language, language))
    return "".join(
        f"In {join(languages)} it has read only {join(known)}; the other kinds come out badly there. "
        for known, languages in alike.items()
    )


def scores_of(evaluation: dict[str, Any], report: dict[str, Any] | None) -> ScoreFacts:
    def measured(systems: Sequence[dict[str, Any]], place: int) -> dict[str, MeasuredScore]:
        scores = systems[place]["scores"] if place < len(systems) else {}
        return {
            name: MeasuredScore(scores[name]["score"], scores[name]["confidence"])
            for name in MEASURES
            if name in scores
        }

    sets = evaluation["sets"]
    return ScoreFacts(
        signatures={name: evaluation["signatures"][name] for name in MEASURES if name in evaluation["signatures"]},
        sets=tuple(
            SetScores(name, each["sentences"], measured(each["systems"], 0), measured(each["systems"], 1), pair)
            for each in sets
            for name, pair in [name_and_pair(each)]
        ),
        resamples=evaluation["resamples"],
        held_out=report is not None and is_held_out(report, [name_and_pair(each)[0] for each in sets]),
    )


def name_and_pair(of_set: dict[str, Any]) -> tuple[str, LanguagePair | None]:
    """The name of a set without its direction, and the direction, if the model has several."""
    if "languages" not in of_set:
        return of_set["name"], None
    source, target = of_set["languages"]
    return of_set["name"].removesuffix(f".{source}-{target}"), (source, target)


def is_held_out(report: dict[str, Any], sets: Sequence[str]) -> bool:
    """Whether the report shows that all these sets were removed from the training text."""
    return bool(report["clean"]["held_out"]) and set(sets) <= {each["name"] for each in report["held_out"]}


def speed_of(evaluation: dict[str, Any]) -> SpeedFacts | None:
    cpu = evaluation.get("cpu")
    if cpu is None:
        return None
    student, teacher, *_ = [*(system["name"] for system in evaluation["sets"][0]["systems"]), None]
    sets = tuple(SetSpeed(name, rates[student], rates.get(teacher)) for name, rates in cpu["sets"].items())
    return SpeedFacts(cpu["engine"], cpu["cores"], cpu["sentences"], cpu["repeats"], sets)


def everyday_of(tree: dict[str, Any] | None) -> EverydayFacts | None:
    if tree is None:
        return None
    return EverydayFacts(
        lines={kind: Hits(each["hold"], each["of"]) for kind, each in tree["lines"].items()},
        test_set=tree["test_set"],
        spellings=tuple(
            SpellingScores(each["name"], each["sentences"], each["scores"], each["plain"]) for each in tree["spellings"]
        ),
        signatures=tree["signatures"],
        names=Hits(tree["names"]["kept"], tree["names"]["of"]) if tree["spellings"] else None,
    )


def making_of(
    bundle: Bundle, teacher: ParentModel | None, starts: Sequence[Facts] = (), steps: int | None = None
) -> MakingFacts:
    config, making = bundle.config, bundle.facts.making
    known = ("teacher", "start") if starts else ("teacher",)
    others = tuple(each for each in making.parents if each.role not in known)
    made_by = making.tool
    if starts:
        start = starts[-1].making
        made_by = TOOL_OF_RUNS.format(
            parameters=start.parameters or 0,
            earlier=start.steps or 0,
            tokens=start.step_tokens or 0,
            grown=GROWN if count_weights(bundle) != start.parameters else "",
        )
    return replace(
        making,
        parameters=count_weights(bundle),
        steps=steps or config.train.steps,
        step_tokens=config.batches.batch_tokens * config.train.batches_per_step,
        variants={name: share for name, share in vars(config.data.augment).items() if share},
        parents=((teacher,) if teacher else ()) + others,
        tool=made_by,
    )


def make_facts(bundle: Bundle, measured_facts: Measured) -> Facts:
    text = training_text(bundle, measured_facts.report, measured_facts.starts)
    kinds, scores = kinds_of_text(text), scores_of(measured_facts.evaluation, measured_facts.report)
    return replace(
        bundle.facts,
        title=bundle.facts.title or next((each.title for each in measured_facts.starts), ""),
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
        speed=speed_of(measured_facts.evaluation),
        everyday=everyday_of(measured_facts.everyday),
        making=making_of(bundle, measured_facts.teacher, measured_facts.starts, measured_facts.steps),
    )


def headline_of(scores: ScoreFacts) -> str:
    """BLEU on the headline sets; the mean of all directions, if there are several."""
    by_name: dict[str, list[float]] = {}
    for each in [each for each in scores.sets if each.name in HEADLINE] or scores.sets:
        by_name.setdefault(each.name, []).append(each.scores["bleu"].score)
    means = ", ".join(f"{sum(values) / len(values):.1f} ({name})" for name, values in by_name.items())
    most = max(map(len, by_name.values()))
    return f"BLEU {means}" if most == 1 else f"mean BLEU of up to {most} directions {means}"


def read_json(file: Path | None, kind: str = "") -> Any:
    if file is None:
        return None
    try:
        tree = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: cannot be read: {error}") from None
    if kind and tree.get("kind") != kind:
        raise UserError(f"{file}: not a {kind}")
    return tree


def read_measured(arguments: argparse.Namespace) -> Measured:
    return Measured(
        read_json(arguments.evaluation, "hark evaluation"),
        read_json(arguments.everyday, "hark everyday"),
        describe_teacher(Bundle.open(named_folder(arguments.teacher))) if arguments.teacher else None,
        read_json(arguments.report),
        tuple(Bundle.open(named_folder(each)).facts for each in arguments.start),
        read_metrics(arguments.metrics).train[-1].step if arguments.metrics else None,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", help="folder or name")
    parser.add_argument("--evaluation", type=Path, required=True, metavar="FILE.json")
    parser.add_argument("--everyday", type=Path, metavar="FILE.json")
    parser.add_argument("--teacher", metavar="BUNDLE", help="teacher of the model")
    parser.add_argument("--report", type=Path, metavar="FILE.json", help="report of its training dataset")
    parser.add_argument("--start", action="append", default=[], metavar="BUNDLE", help="training started from it")
    parser.add_argument("--metrics", type=Path, metavar="FILE.jsonl", help="metrics of its run: the last step")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", help="write to this folder, and leave the bundle unchanged"
    )
    arguments = parser.parse_args()
    try:
        bundle = Bundle.open(named_folder(arguments.bundle))
        facts = make_facts(bundle, read_measured(arguments))
        if arguments.output:
            for name, content in fact_files(facts, bundle.config).items():
                (arguments.output / name).write_bytes(content)
        else:
            # The corpora lie on the machine that trained; a hundred kilobytes of their names would slow every start.
            config = replace(bundle.config, data=replace(bundle.config.data, train=(), dev=(), test=()))
            write_files(bundle, {CONFIG: configfile.dump(config).encode(), **fact_files(facts, config)})
    except (UserError, HarkError) as error:
        sys.exit(f"make_facts: {error}")
    sys.stdout.write(f"{arguments.output or bundle.folder}\n")


if __name__ == "__main__":
    main()
