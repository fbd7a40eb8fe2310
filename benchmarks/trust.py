"""How far translations can be trusted: right, wrong with a warning, or silently wrong.

    python -m benchmarks.trust [MODEL ...] [--json FILE] [--data FOLDER] [--draw dev|test]

Two measurements of each model (default: en-de and de-en), one call per text. The lines of trust.toml and everyday.toml,
each with conditions on its translation: they *held*; they did not, but the result carries a warning (*flagged*); or
they did not and there is no warning (*silently wrong*). A warning on a line that held is a false alarm. The lines are
translated once more without the phrase table, which answers some of them. And sentences from ten domains with
references (lines.py draws them), where a translation with a chrF2 below --threshold is wrong. Precision and recall are
those of the warnings. Tune on `--draw dev`, report `--draw test`.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from sacrebleu.metrics.chrf import CHRF

from benchmarks.lines import DRAWS, Line, Pair, draw, has_warning, read_lines
from hark.errors import HarkError, UserError
from hark.evaluate.systems import name_models
from hark.text.rules import ON, Rules
from hark.translate.load import Loaded
from hark.translate.piece import Options
from hark.translate.translation import Translation

Outcome = Literal["held", "flagged", "silent"]
OUTCOMES: dict[Outcome, str] = {"held": "held", "flagged": "flagged", "silent": "silently wrong"}
"""Outcomes with their column headings."""
HERE = Path(__file__).parent
PARTS = ("trust.toml", "everyday.toml")
MODELS = ("en-de", "de-en")
KIND = "hark trust"
WIDTHS = (6, 6, 10)
SENTENCES = 200
WITHOUT_PHRASES: Rules = ON - {"phrases"}
THRESHOLD = 35.0
"""Chosen by reading translations of the draw dev. Usable are 9 of 58 between 10 and 35 (with free references), none of
the 12 between 30 and 35, a quarter of those between 35 and 46 (23 of 91), a third between 46 and 55 (15 of 43). So
nearly all below are wrong, and many above are wrong too: shares of wrong translations are lower bounds."""
BANDS = (0, 20, 35, 50, 65, 101)


@dataclass(frozen=True)
class Verdict:
    """A text, its translation, and the verdict."""

    part: str
    """The file of the line, or the draw of the sentence."""
    kind: str
    text: str
    answer: str
    flags: tuple[str, ...]
    outcome: Outcome
    false_alarm: bool
    wrong: str
    """The violated condition."""
    reference: str = ""
    chrf: float | None = None
    phrases: bool = True
    """Whether the phrase table could answer."""


@dataclass(frozen=True)
class Warnings:
    """Precision and recall of the warnings."""

    wrong: int
    flagged: int
    false_alarms: int
    total: int

    @classmethod
    def of(cls, found: Sequence[Verdict]) -> "Warnings":
        flagged, alarms = sum(each.outcome == "flagged" for each in found), sum(each.false_alarm for each in found)
        return cls(sum(each.outcome != "held" for each in found), flagged, alarms, len(found))

    @property
    def precision(self) -> float | None:
        """The share of warnings on wrong translations, or None without warnings."""
        return divide(self.flagged, self.flagged + self.false_alarms)

    @property
    def recall(self) -> float | None:
        """The share of wrong translations with a warning."""
        return divide(self.flagged, self.wrong)

    @property
    def alarm_rate(self) -> float | None:
        """The share of right translations with a warning."""
        return divide(self.false_alarms, self.total - self.wrong)


def divide(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def check_line(part: str, kind: str, line: Line, result: Translation, of_like: str) -> Verdict:
    wrong, warned = line.wrong(result.text, of_like), has_warning(result)
    outcome = decide(wrong == "", warned)
    if line.flagged == "must" and not warned:
        outcome, wrong = "silent", wrong or "carries no warning"
    alarm = outcome == "held" and warned and not line.flagged
    return Verdict(part, kind, line.text, result.text, result.flags, outcome, alarm, wrong)


def check_sentence(part: str, pair: Pair, source: str, target: str, result: Translation, threshold: float) -> Verdict:
    reference = pair.side(target)
    chrf = float(CHRF().sentence_score(result.text, [reference]).score)
    outcome = decide(chrf >= threshold, has_warning(result))
    alarm = outcome == "held" and has_warning(result)
    wrong = f"chrF2 {chrf:.0f}" if outcome != "held" else ""
    text = pair.side(source)
    return Verdict(part, pair.domain, text, result.text, result.flags, outcome, alarm, wrong, reference, chrf)


def decide(right: bool, warned: bool) -> Outcome:
    return "held" if right else "flagged" if warned else "silent"


def translate(model: Loaded, text: str, rules: Rules = ON) -> Translation:
    """Translate one text, as users do, second look included."""
    options = Options(model.config.decode, rules=rules)
    (found,) = model.translator.stream([text], options, review=partial(model.check, options=options))
    return found


def check_lines(model: Loaded, pair: str) -> Iterator[Verdict]:
    """Check every line with the phrase table, and without it."""
    for part in PARTS:
        for kind, lines in read_lines(HERE / part, pair).items():
            for line in lines:
                for rules in (ON, WITHOUT_PHRASES):
                    of_like = translate(model, line.like, rules).text if line.like else ""
                    judged = check_line(part, kind, line, translate(model, line.text, rules), of_like)
                    yield replace(judged, phrases=rules == ON)


def row(name: str, found: Sequence[Verdict]) -> str:
    counts = [sum(each.outcome == outcome for each in found) for outcome in OUTCOMES]
    cells = "".join(
        f"{count:>{width}} {count / max(1, len(found)):>6.1%}" for count, width in zip(counts, WIDTHS, strict=True)
    )
    return f"  {name:<22}{len(found):>6}{cells}{sum(each.false_alarm for each in found):>14}"


def head(title: str) -> list[str]:
    columns = "".join(f"{name:>{width + 7}}" for name, width in zip(OUTCOMES.values(), WIDTHS, strict=True))
    return [title, f"  {'':<22}{'texts':>6}{columns}{'false alarms':>14}"]


def tabulate(title: str, found: Sequence[Verdict]) -> list[str]:
    kinds: dict[str, list[Verdict]] = {}
    for each in found:
        kinds.setdefault(each.kind.replace("_", " "), []).append(each)
    return [*head(title), *(row(kind, each) for kind, each in kinds.items()), row("all", found), ""]


def report(model: str, found: Sequence[Verdict], threshold: float) -> list[str]:
    """The tables of a model, and its silently wrong lines. Sentences are only in the JSON, for their licences."""
    of_lines = [each for each in found if each.part in PARTS and each.phrases]
    bare = [each for each in found if not each.phrases]
    answered = sum("phrase" in each.flags for each in of_lines)
    sentences = [each for each in found if each.part not in PARTS]
    lines = []
    for part in PARTS:
        lines += tabulate(f"{model}: {part}", [each for each in of_lines if each.part == part])
    lines += [*head(f"{model}: {' and '.join(PARTS)}"), row("all", of_lines), summarise(of_lines), ""]
    if bare:
        title = f"{model}: the same without the phrase table, which has a part in {answered}"
        lines += [*head(title), row("all", bare), summarise(bare), ""]
    if sentences:
        title = f"{model}: {len(sentences)} sentences of draw {sentences[0].part}, wrong below chrF2 {threshold:g}"
        lines += [*tabulate(title, sentences)[:-1], summarise(sentences), count_by_chrf(sentences), ""]
    lines.append(f"{model}: silently wrong lines")
    silent = [each for each in of_lines if each.outcome == "silent"]
    listed = {each.text for each in silent}
    silent += [each for each in bare if each.outcome == "silent" and each.text not in listed]
    return [*lines, *map(describe, silent), ""]


def summarise(found: Sequence[Verdict]) -> str:
    about = Warnings.of(found)
    shares = ("-" if each is None else f"{each:.2f}" for each in (about.precision, about.recall, about.alarm_rate))
    precision, recall, alarms = shares
    return (
        f"  {about.flagged + about.false_alarms} warnings, {about.flagged} on wrong translations "
        f"(precision {precision}, recall {recall}); "
        f"false alarms: {about.false_alarms} of {about.total - about.wrong} right ones ({alarms})"
    )


def count_by_chrf(found: Sequence[Verdict]) -> str:
    """Count the warnings by range of chrF2, independent of the threshold."""
    bands = {
        at: [each for each in found if each.chrf is not None and at[0] <= each.chrf < at[1]] for at in pairwise(BANDS)
    }
    warned = {at: sum(each.outcome == "flagged" or each.false_alarm for each in band) for at, band in bands.items()}
    cells = (f"{at[0]} to {min(at[1], 100)}: {warned[at]} of {len(band)}" for at, band in bands.items())
    return f"  warnings by chrF2: {'; '.join(cells)}"


def describe(each: Verdict) -> str:
    short = [
        t if len(t) <= 300 else f"{t[:290]} ... ({len(t):,} characters)" for t in (each.text, each.answer, each.wrong)
    ]
    table = "" if each.phrases else "; without the phrase table"
    return f"  {each.kind}: {short[0]} -> {short[1]}   ({short[2]}{table})".replace("\n", "\n    ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL", help="folder, run, name or languages")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every text with its outcome as JSON")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="made by tools.cut_domains (default: lines only)")
    parser.add_argument("--draw", choices=DRAWS, default="test", help="which sentences of the data (default: test)")
    parser.add_argument("--threshold", type=float, default=THRESHOLD, help="minimum chrF2 of a usable translation")
    arguments = parser.parse_args()
    drawn, trees = list[Pair](), dict[str, Any]()
    try:
        if arguments.data and arguments.data.is_dir():
            drawn = draw(arguments.data, arguments.draw, SENTENCES)
        else:
            where = f"no such folder: {arguments.data}" if arguments.data else "--data is not set"
            print(f"skipping the sentences from domains: {where}\n")
        for name, given in zip(name_models(arguments.models), arguments.models, strict=True):
            model = Loaded.named(given)
            source, target = model.pairs[0]
            found = list(check_lines(model, f"{source}-{target}"))
            for each in drawn:
                answer = translate(model, each.side(source))
                found.append(check_sentence(arguments.draw, each, source, target, answer, arguments.threshold))
            model.close()
            trees[name] = list(map(asdict, found))
            print("\n".join(report(name, found, arguments.threshold)), flush=True)
    except (UserError, HarkError, OSError) as error:
        sys.exit(f"trust: {error}")
    if arguments.json:
        tree = {"kind": KIND, "draw": arguments.draw, "threshold": arguments.threshold, "models": trees}
        arguments.json.write_text(json.dumps(tree, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
