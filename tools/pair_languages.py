"""Make the text of the many-to-many model `seven`: pairs of languages, each with its own lines.

    python -m tools.pair_languages MULTIWAY DOMAINS -o FOLDER

MULTIWAY has train.en, train.de and so on: the same lines in seven languages (europarl_multiway.py makes them). All of
them in all 21 pairs would be ten million pairs that repeat each other, so each pair draws lines of its own: many with
English, fewer without. English-German draws few, since it has the teachers' translations of Parliament as well.
DOMAINS has the folders domains-en-de, domains-en-fr and domains-en-es (cut_domains.py): lines with the same English are
joined into pairs without English. FOLDER gets europarl.en-fr.en, europarl.en-fr.fr, joined.de-fr.de and so on.
"""

import argparse
import random
import sys
from itertools import combinations
from pathlib import Path

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")
WITH_ENGLISH, WITHOUT_ENGLISH = 250_000, 80_000
JOINED = (("de", "fr"), ("de", "es"), ("fr", "es"))
DOMAINS = ("prose", "manuals", "docs", "descriptions", "strings", "catalogues")


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")


def draw_rows(pair: tuple[str, str], rows: int) -> list[int]:
    """Return the rows of a pair of languages; the same for the same number of rows."""
    many = "en" in pair and "de" not in pair
    return random.Random(f"{pair}").sample(range(rows), min(rows, WITH_ENGLISH if many else WITHOUT_ENGLISH))


def join_domains(folder: Path, one: str, other: str) -> list[tuple[str, str]]:
    """Return pairs of lines with the same English translation, each pair once."""
    pairs: dict[tuple[str, str], None] = {}
    for domain in DOMAINS:
        sides = []
        for language in (one, other):
            stem = folder / f"domains-en-{language}" / f"{domain}.train"
            sides.append(dict(zip(read_lines(Path(f"{stem}.en")), read_lines(Path(f"{stem}.{language}")), strict=True)))
        pairs |= dict.fromkeys((text, sides[1][en]) for en, text in sides[0].items() if en in sides[1])
    return list(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("multiway", type=Path)
    parser.add_argument("domains", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    said = parser.parse_args()
    said.output.mkdir(parents=True, exist_ok=True)
    lines = {language: read_lines(said.multiway / f"train.{language}") for language in LANGUAGES}
    for pair in combinations(LANGUAGES, 2):
        rows = draw_rows(pair, len(lines["en"]))
        for language in pair:
            stem = said.output / f"europarl.{'-'.join(pair)}"
            write_lines(Path(f"{stem}.{language}"), [lines[language][row] for row in rows])
    for pair in JOINED:
        joined = join_domains(said.domains, *pair)
        for language, side in zip(pair, zip(*joined, strict=True), strict=True):
            write_lines(said.output / f"joined.{'-'.join(pair)}.{language}", list(side))
        sys.stdout.write(f"joined {'-'.join(pair)}: {len(joined):,} pairs\n")


if __name__ == "__main__":
    main()
