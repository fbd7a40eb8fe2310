"""Lines of daily life: those that were judged by hand, counted, and a model's translations of the closed test.

    python -m benchmarks.fresh [FILE]
    python -m benchmarks.fresh --model MODEL [--test FILE] [-o LINES.tsv]

FILE (default: docs/results/logs/trust/fresh.tsv) has a line for each text: direction, kind, verdict (usable, wrong with
a warning, or silently wrong), source, reference, translation, flags, and a cause, which is "borderline" if the line
could be judged either way. Lines that led to a change of a rule or a model must be replaced by new ones. The table is
that of docs/trust.md.

With --model, the closed test of daily life is translated, data/closed/daily.tsv.xz: 300 lines of eight kinds in seven
languages that no model is trained on, one by one, as `hark translate` does, from English and into it. Prints chrF2 of
each kind and direction, and the share of lines with a warning. LINES.tsv is such a FILE, without verdicts and causes.
"""

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

from sacrebleu.metrics import CHRF

from benchmarks.lines import LANGUAGES, read_xz
from hark.translate.load import Loaded
from hark.translate.translation import FAULTS

FILE = Path(__file__).parent.parent / "docs" / "results" / "logs" / "trust" / "fresh.tsv"
DAILY = Path(__file__).parents[1] / "data" / "closed" / "daily.tsv.xz"
DIRECTIONS = ("en-de", "de-en")
VERDICTS = ("usable", "flagged", "silent")
COLUMNS = ("direction", "kind", "verdict", "source", "reference", "translation", "flags", "cause")
Row = dict[str, str]


def read(file: Path) -> list[Row]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def warned(row: Row) -> bool:
    return not {*FAULTS, "untranslated"}.isdisjoint(row["flags"].split(","))


def count(rows: Sequence[Row]) -> str:
    return " / ".join(str(sum(row["verdict"] == verdict for row in rows)) for verdict in VERDICTS)


def tabulate(rows: Sequence[Row]) -> list[str]:
    """The table of counts, usable / flagged / silent, and a summary."""
    lines = ["| kind | English to German | German to English |", "| --- | --- | --- |"]
    for kind in (*sorted({row["kind"] for row in rows}), ""):
        fitting = [row for row in rows if kind in (row["kind"], "")]
        cells = [count([row for row in fitting if row["direction"] == direction]) for direction in DIRECTIONS]
        lines.append(f"| {' | '.join([kind or 'all', *cells])} |")
    shares = [f"{sum(row['verdict'] == each for row in rows) / len(rows):.0%} {each}" for each in VERDICTS]
    right = [row for row in rows if row["verdict"] == "usable"]
    borderline = sum(row["cause"].startswith("borderline") for row in rows)
    alarms = f"warnings on usable lines: {sum(map(warned, right))} of {len(right)}"
    return [*lines, "", f"{len(rows)} lines: {', '.join(shares)}; {alarms}; borderline: {borderline}"]


def translate(model: Loaded, rows: list[list[str]], source: str, target: str) -> list[Row]:
    sides = [[row[1 + LANGUAGES.index(code)] for row in rows] for code in (source, target)]
    found = []
    for row, text, reference, each in zip(
        rows, *sides, model.translate(sides[0], source=source, target=target), strict=True
    ):
        cells = (f"{source}-{target}", row[0], "", text, reference, each.text, ",".join(each.flags), "")
        found.append({**dict(zip(COLUMNS, cells, strict=True)), "doubtful": "yes" if each.doubtful else ""})
    return found


def chrf(rows: list[Row]) -> float:
    return float(CHRF().corpus_score([row["translation"] for row in rows], [[row["reference"] for row in rows]]).score)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?", default=FILE, metavar="FILE")
    parser.add_argument("--model", metavar="MODEL")
    parser.add_argument("--test", type=Path, default=DAILY, metavar="FILE")
    parser.add_argument("-o", "--output", type=Path, metavar="LINES.tsv")
    said = parser.parse_args()
    if not said.model:
        print("\n".join(tabulate(read(said.file))))
        return
    model = Loaded.named(said.model)
    rows = [line.split("\t") for line in read_xz(said.test)]  # a kind, and a line in each language
    kinds = list(dict.fromkeys(row[0] for row in rows))
    directions = [pair for code in LANGUAGES[1:] for pair in (("en", code), (code, "en"))]
    print(f"| | {' | '.join(kinds)} | all | warned |\n|{' --- |' * (len(kinds) + 3)}")
    every: list[Row] = []
    for source, target in directions:
        found = translate(model, rows, source, target)
        every += found
        scores = [chrf([row for row in found if row["kind"] == kind]) for kind in kinds]
        warned = sum(bool(row["doubtful"]) for row in found) / len(found)
        cells = " | ".join(f"{score:.1f}" for score in (*scores, chrf(found)))
        print(f"| {source}-{target} | {cells} | {warned:.0%} |", flush=True)
    if said.output:
        lines = [COLUMNS, *([row[name] for name in COLUMNS] for row in every)]
        said.output.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
