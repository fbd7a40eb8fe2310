"""How often the check of limits is wrong on human translations, and how often it notices a limit that turned round.

    python -m benchmarks.limits --data DATA [--lines N]

DATA has the folders tatoeba-seven, europarl-seven, written and github (tab-separated columns or parallel files, .xz).
False alarms: human translations that are flagged, up to N pairs of each file. Recall: in a translation of `written`, a
word of limit, order or negation whose counterpart is in the source becomes its opposite, or is dropped.
"""

import argparse
import random
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations, permutations, product
from pathlib import Path

from benchmarks.lines import LANGUAGES, read_tree, read_xz
from hark.text.limits import compare_limits

Pair = tuple[str, str, str, str]
"""Two languages and their texts."""
TURNS: dict[str, dict[str, tuple[str, str]]] = read_tree(Path(__file__).with_suffix(".toml"))
"""By kind and language: a word, as a regular expression, and its opposite."""


def columns(files: Iterable[Path], lines: int) -> Iterator[Pair]:
    """Pairs of files that are named by their languages."""
    for file in files:
        one, other = file.name.removesuffix(".tsv.xz").removesuffix(".test").split(".")[-1].split("-")
        for row in read_xz(file)[:lines]:
            source, target = row.split("\t")[:2]
            yield one, other, source, target


def every_pair(rows: Iterable[tuple[str, ...]]) -> Iterator[Pair]:
    for row, (i, j) in product(rows, list(combinations(range(len(LANGUAGES)), 2))):
        if row[i] and row[j]:
            yield LANGUAGES[i], LANGUAGES[j], row[i], row[j]


def report_false_alarms(name: str, pairs: list[Pair]) -> None:
    start, found = time.process_time(), Counter[str]()
    for one, other, source, target in pairs:
        changes = compare_limits(source, target, one, other)
        if changes:
            found["turned round" if changes[0].source and changes[0].translation else "missing"] += 1
    cost = (time.process_time() - start) / max(1, len(pairs)) * 1e6
    shares = "".join(f"{found[kind] / len(pairs):>14.3%}" for kind in ("turned round", "missing"))
    print(f"{name:<16}{len(pairs):>9,}{shares}{found.total() / len(pairs):>10.3%}{cost:>10.0f}", flush=True)


def report_recall(rows: list[tuple[str, ...]]) -> None:
    chance = random.Random(44)
    for kind, words in TURNS.items():
        patterns = {language: re.compile(rf"\b(?:{word})", re.IGNORECASE) for language, (word, _) in words.items()}
        noticed = total = 0
        for row in rows:
            having = [place for place, each in enumerate(LANGUAGES) if len(patterns[each].findall(row[place])) == 1]
            for i, j in permutations(having, 2):
                one, other = LANGUAGES[i], LANGUAGES[j]
                if chance.random() < 0.5 and not compare_limits(row[i], row[j], one, other):
                    turned = patterns[other].sub(words[other][1], row[j])
                    total += 1
                    noticed += bool(compare_limits(row[i], turned, one, other))
        print(f"{kind:<16}{total:>9,}{noticed / max(1, total):>10.1%}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DATA", help="folder with the four sets")
    parser.add_argument("--lines", type=int, default=4000, metavar="N", help="pairs of each file (default: 4000)")
    arguments = parser.parse_args()
    data, lines = arguments.data, arguments.lines
    dev = (read_xz(data / f"europarl-seven/dev.{each}.xz") for each in LANGUAGES)
    rows = [tuple(line.split("\t")) for file in sorted(data.glob("written/*.tsv.xz")) for line in read_xz(file) if line]
    print(f"{'human':<16}{'pairs':>9}{'turned round':>14}{'missing':>14}{'flagged':>10}{'us a pair':>10}")
    report_false_alarms("Tatoeba", list(columns(sorted(data.glob("tatoeba-seven/*.xz")), lines)))
    report_false_alarms("Europarl dev", list(every_pair(zip(*dev, strict=True))))
    report_false_alarms("documentation", list(columns(sorted(data.glob("github/[dm][oe][cd]*.xz")), lines)))
    report_false_alarms("written", list(every_pair(rows)))
    print(f"\n{'turned':<16}{'lines':>9}{'noticed':>10}")
    report_recall(rows)


if __name__ == "__main__":
    main()
