"""How many changed numbers the check of numbers notices, and how many human translations it flags.

    python -m benchmarks.number_check --data FOLDER

FOLDER has tatoeba-en-de/test.{en,de}.xz, github/docs.en-de.tsv.xz (every twelfth line is read), europarl-en-de and
europarl-seven/dev.LANGUAGE.xz. In every human translation that is not flagged, a number is changed three times: a digit
is dropped or changed, or the number is dropped.
"""

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.rules import read_lines_of
from hark.text.numbers import compare_numbers

Pairs = Sequence[tuple[str, str]]
SEVEN = ("en-fr", "fr-en", "de-es", "es-it", "it-nl", "nl-pt", "pt-de", "en-it")
EVERY = 12
CHANGES = 3
_NUMBER = re.compile(r"\d+")


def change(text: str, seed: int) -> tuple[str, str]:
    """Change a number of a text; return how, and the text."""
    rng = random.Random(f"{text}{seed}")
    match = rng.choice(list(_NUMBER.finditer(text)))
    digits, place = match[0], rng.randrange(len(match[0]))
    how = rng.choice(["digit dropped", "digit changed", "number dropped"])
    if how == "number dropped":
        new = ""
    elif how == "digit dropped" and len(digits) > 1:
        new = digits[:place] + digits[place + 1 :]
    else:
        how = "digit changed"
        new = (
            digits[:place] + rng.choice([each for each in "0123456789" if each != digits[place]]) + digits[place + 1 :]
        )
    return how, text[: match.start()] + new + text[match.end() :]


def corpora(folder: Path) -> Iterator[tuple[str, str, Pairs]]:
    """Yield names, language pairs and texts."""
    files = {"Tatoeba": "tatoeba-en-de/test", "Europarl": "europarl-en-de/dev"}
    both = {
        name: [read_lines_of(folder / f"{file}.{side}.xz") for side in ("en", "de")] for name, file in files.items()
    }
    rows = [line.split("\t") for line in read_lines_of(folder / "github" / "docs.en-de.tsv.xz")[::EVERY]]
    both["documentation"] = [[row[0] for row in rows], [row[1] for row in rows]]
    for name, (english, german) in both.items():
        yield name, "en-de", list(zip(english, german, strict=True))
        yield name, "de-en", list(zip(german, english, strict=True))
    for pair in SEVEN:
        sides = [read_lines_of(folder / "europarl-seven" / f"dev.{side}.xz") for side in pair.split("-")]
        yield "Europarl", pair, list(zip(*sides, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="folder with texts and translations")
    arguments = parser.parse_args()
    made, noticed = Counter[str](), Counter[str]()
    for name, pair, pairs in corpora(arguments.data):
        source, target = pair.split("-")
        numbered = [(text, other) for text, other in pairs if _NUMBER.search(text) and _NUMBER.search(other)]
        right = [each for each in numbered if not compare_numbers(*each, source, target)]
        flagged = len(numbered) - len(right)
        share = flagged / len(numbered)
        print(f"{name:<14} {pair}: {flagged:>3} of {len(numbered):,} human translations flagged ({share:.1%})")
        for text, other in right:
            for seed in range(CHANGES):
                how, changed = change(other, seed)
                made[how] += 1
                noticed[how] += bool(compare_numbers(text, changed, source, target))
    for how, count in made.items():
        print(f"{how}: {noticed[how]:,} of {count:,} noticed ({noticed[how] / count:.2%})")
    print(f"all: {noticed.total():,} of {made.total():,} noticed ({noticed.total() / made.total():.2%})")


if __name__ == "__main__":
    main()
