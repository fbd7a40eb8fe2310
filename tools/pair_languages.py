"""Make the text of the many-to-many model `seven`: pairs of languages, each with its own lines.

    python -m tools.pair_languages MULTIWAY DOMAINS -o FOLDER

MULTIWAY has train.en.xz, train.de.xz and so on: the same lines in seven languages (europarl_multiway.py makes them).
All of them in all 21 pairs would be ten million pairs that repeat each other, so each pair draws lines of its own: many
with English, fewer without. English-German draws few, since it has the teachers' translations of Parliament as well.
DOMAINS has the folders domains-en-de, domains-en-fr and so on (cut_domains.py): lines with the same English are joined
into pairs without English. FOLDER gets europarl.en-fr.en, europarl.en-fr.fr, joined.de-fr.de and so on.
"""

import argparse
import random
import sys
from itertools import combinations
from pathlib import Path

from hark.data import corpus
from hark.data.compression import ByteStream
from hark.errors import UserError

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")
WITH_ENGLISH, WITHOUT_ENGLISH = 250_000, 80_000
DOMAINS = ("prose", "manuals", "docs", "descriptions", "strings", "catalogues")
MOST_JOINED = 120_000
"""Pairs of a pair of languages that share their English; more would outweigh its other text."""


def read_lines(path: Path) -> list[str]:
    with ByteStream(path) as stream:
        return list(corpus.read_lines(stream))


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")


def draw_rows(pair: tuple[str, str], rows: int) -> list[int]:
    """Return the rows of a pair of languages; the same for the same number of rows."""
    many = "en" in pair and "de" not in pair
    return random.Random(f"{pair}").sample(range(rows), min(rows, WITH_ENGLISH if many else WITHOUT_ENGLISH))


def read_domains(folder: Path, language: str) -> dict[str, str]:
    """Translations of English lines. A program's text may be in another domain in another language."""
    found: dict[str, str] = {}
    for domain in DOMAINS:
        stem = folder / f"domains-en-{language}" / f"{domain}.train"
        if Path(f"{stem}.en").exists():
            found |= zip(read_lines(Path(f"{stem}.en")), read_lines(Path(f"{stem}.{language}")), strict=True)
    if not found:
        raise UserError(f"{folder}/domains-en-{language}: no text; tools.cut_domains makes it")
    return found


def join(pair: tuple[str, str], one: dict[str, str], other: dict[str, str]) -> list[tuple[str, str]]:
    """Return pairs of lines with the same English translation, each pair once; a sample if there are too many."""
    joined = list(dict.fromkeys((text, other[english]) for english, text in one.items() if english in other))
    return random.Random(f"{pair}").sample(joined, min(len(joined), MOST_JOINED))


def pair_languages(multiway: Path, domains: Path, output: Path) -> None:
    lines = {language: read_lines(multiway / f"train.{language}.xz") for language in LANGUAGES}
    translations = {language: read_domains(domains, language) for language in LANGUAGES[1:]}
    output.mkdir(parents=True, exist_ok=True)
    for pair in combinations(LANGUAGES, 2):
        rows = draw_rows(pair, len(lines["en"]))
        for language in pair:
            stem = output / f"europarl.{'-'.join(pair)}"
            write_lines(Path(f"{stem}.{language}"), [lines[language][row] for row in rows])
    for pair in combinations(LANGUAGES[1:], 2):
        joined = join(pair, translations[pair[0]], translations[pair[1]])
        for place, language in enumerate(pair):
            write_lines(output / f"joined.{'-'.join(pair)}.{language}", [each[place] for each in joined])
        sys.stdout.write(f"joined {'-'.join(pair)}: {len(joined):,} pairs\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("multiway", type=Path)
    parser.add_argument("domains", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    said = parser.parse_args()
    try:
        pair_languages(said.multiway, said.domains, said.output)
    except UserError as error:
        sys.exit(f"pair_languages: {error}")


if __name__ == "__main__":
    main()
