"""How well a model translates the closed test of daily life, from English and into it.

    python -m benchmarks.daily MODEL [--test FILE] [-o LINES.tsv]

The test is data/closed/daily.tsv.xz: 300 lines of eight kinds in seven languages that no model is trained on. They
are translated one by one, as `hark translate` does. Prints chrF2 of each kind and direction, and the share of lines
with a warning. LINES.tsv has the columns that benchmarks/fresh.py reads, with empty verdicts and causes.
"""

import argparse
import csv
from pathlib import Path

from sacrebleu.metrics import CHRF

from benchmarks.lines import LANGUAGES, read_xz
from hark.translate.load import Loaded

FILE = Path(__file__).parents[1] / "data" / "closed" / "daily.tsv.xz"
COLUMNS = ("direction", "kind", "verdict", "source", "reference", "translation", "flags", "cause")
Row = dict[str, str]


def translate(model: Loaded, rows: list[list[str]], source: str, target: str) -> list[Row]:
    places = [1 + LANGUAGES.index(code) for code in (source, target)]
    found = model.translate((row[places[0]] for row in rows), source=source, target=target)
    return [
        {
            "direction": f"{source}-{target}", "kind": row[0], "source": row[places[0]], "reference": row[places[1]],
            "translation": each.text, "flags": ",".join(each.flags), "doubtful": "yes" if each.doubtful else "",
        }
        for row, each in zip(rows, found, strict=True)
    ]  # fmt: skip


def chrf(rows: list[Row]) -> float:
    return float(CHRF().corpus_score([row["translation"] for row in rows], [[row["reference"] for row in rows]]).score)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--test", type=Path, default=FILE, metavar="FILE")
    parser.add_argument("-o", "--output", type=Path, metavar="LINES.tsv")
    said = parser.parse_args()
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
        with said.output.open("w", encoding="utf-8", newline="") as file:
            lines = csv.DictWriter(
                file, COLUMNS, extrasaction="ignore", delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None,
                lineterminator="\n",
            )  # fmt: skip
            lines.writeheader()
            lines.writerows(every)


if __name__ == "__main__":
    main()
