"""Count the fresh lines that were judged by hand: usable, wrong with a warning, or silently wrong.

    python -m benchmarks.fresh [FILE]

FILE (default: docs/results/logs/trust/fresh.tsv) has a line for each text: direction, kind, verdict, source, reference,
translation, flags, and a cause, which is "borderline" if the line could be judged either way. Lines
that led to a change of a rule or a model must be replaced by new ones. The table is that of docs/trust.md.
"""

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

from hark.translate.translation import FAULTS

FILE = Path(__file__).parent.parent / "docs" / "results" / "logs" / "trust" / "fresh.tsv"
DIRECTIONS = ("en-de", "de-en")
VERDICTS = ("usable", "flagged", "silent")
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


if __name__ == "__main__":
    print("\n".join(tabulate(read(Path(sys.argv[1]) if len(sys.argv) > 1 else FILE))))
