"""Cut dev and test sets from text of many domains, and make training text that knows none of them.

    python -m tools.cut_domains DATA -o FOLDER [--to de|fr|es|it|nl|pt]

DATA holds the corpora (`debian`, `github`, `europarl-en-de`, `tatoeba-en-de`) and what models are measured on (`news`,
`multi30k` and others). FOLDER gets NAME.train.en, NAME.train.de, the same for dev and test, the mixed dev set
`domains.dev`, and counts.json. The same text and seed give the same files, byte for byte. Languages other than German
have fewer domains, and their Parliament and Tatoeba need no cutting: `hark prepare` removes what is in their test sets.

The files tell no documents, but they are in their order: so sets are cut in blocks of consecutive lines. Lines of fewer
than three words are not measured on and stay in the training text, since every program has its "Open file". A training
pair goes where a side equals one of any dev or test set but for case, digits, punctuation and spaces, where it
nearly does (new corpora only), and where it repeats a pair of a corpus before it.
"""

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from hark.config import CleanConfig
from hark.data.filters import Cleaner
from hark.data.held_out import essence
from tools.held_out_text import MEASURED, HeldOutText, Purge, read_everyday, read_held_out
from tools.tables import Pair, Row, read_pairs, read_table

DOMAINS = {
    # A pair that stands in several belongs to the first: sentences before strings, small corpora before large ones.
    "examples": "debian/dictionary-examples",
    "medical": "github/medical",
    "books": "github/books",
    "prose": "github/prose",
    "games": "github/games",
    "manuals": "debian/manuals",
    "docs": "github/docs",
    "descriptions": "debian/descriptions",
    "strings": "github/strings",
    "catalogues": "debian/catalogues",
}
LARGE = 4
"""Except for German, a corpus gets no sets of its own if it has fewer pairs than this many times those of its sets."""
WORDS = {"names": "github/names", "dictionary": "debian/dictionary"}
TATOEBA, EUROPARL = "tatoeba-en-de/train", "europarl-en-de/train"
"""English-German corpora with test sets of their own."""

BLOCK = 40
"""Consecutive lines that are held out together."""
MIXED = 100
"""Pairs of each domain in the mixed dev set."""
SOURCE_WORDS, TARGET_WORDS, LETTERS = 3, 2, 12
"""What a pair has at least that is measured on."""
COLUMNS = ("read", "unsuited", "cut", "equal", "nearly equal", "repeated", "train")
"""What becomes of the pairs of a corpus."""

CREDITS = re.compile(r"your (?:names?|emails?)\W*|translator-credits", re.IGNORECASE)
"""Of translators: they differ by file and translate nothing."""
NOTATION = re.compile(
    r"[^\w\s'’-]|\d|\b(?:sth|sb|sby|smth|etw|jdn|jdm|jds|jmd|jmdn|jmdm|jdn|u|usw|etc)\b", re.IGNORECASE
)
"""Of dictionaries: no words of a text."""
SPECIES = frozenset(
    ["ornith.", "bot.", "zool.", "min.", "geol.", "chem.", "biochem.", "astron.", "obs.", "hist.", "slang", "vulg."]
)
"""Labels of entries that few texts need."""
MOST_SENSES = 3


def choose_entries(rows: Iterable[Row]) -> list[Pair]:
    """Entries of a dictionary that teach what a word means: short, written as in a sentence, of few senses."""
    chosen = [(row[0], row[1]) for row in rows if is_plain_entry(*row)]
    senses = [Counter(essence(pair[side]) for pair in chosen) for side in (0, 1)]
    return [pair for pair in chosen if all(senses[side][essence(pair[side])] <= MOST_SENSES for side in (0, 1))]


def is_plain_entry(en: str, de: str, label: str = "") -> bool:
    if label in SPECIES or NOTATION.search(en) or NOTATION.search(de):
        return False
    if len(en.removeprefix("to ").split()) > 3 or len(de.split()) > 3:
        return False
    return not (en.endswith("ing") and de.endswith("end"))  # most participles, of every verb


class Cutter:
    """Chooses dev and test pairs; no side of any stands in another, or in what is measured on already."""

    def __init__(
        self, held_out: tuple[HeldOutText, HeldOutText], language: str, seed: int, dev: int, test: int
    ) -> None:
        self.held_out, self.seed, self.sizes = held_out, seed, {"test": test, "dev": dev}
        # What a cleaner would drop from the training text is not worth measuring on either.
        self.clean = Cleaner(CleanConfig(), "en", language)

    def cut(self, name: str, pairs: Sequence[Pair], block: int) -> tuple[dict[str, list[Pair]], list[Pair]]:
        """The sets by name, in the order of the corpus, and what remains to train on."""
        blocks = [range(at, min(at + block, len(pairs))) for at in range(0, len(pairs), block)]
        random.Random(f"{self.seed} {name}").shuffle(blocks)
        chosen: dict[str, list[int]] = {use: [] for use in self.sizes}
        removed: set[int] = set()
        for lines in blocks:
            use = next((use for use, size in self.sizes.items() if len(chosen[use]) < size), None)
            if use is None:
                break
            for line in lines:
                if is_measurable(*pairs[line]):
                    removed.add(line)
                    if len(chosen[use]) < self.sizes[use] and self.take(*pairs[line]):
                        chosen[use].append(line)
        if any(len(chosen[use]) < size for use, size in self.sizes.items()):
            raise SystemExit(f"{name}: {len(pairs):,} pairs are too few for dev and test sets")
        sets = {use: [pairs[line] for line in sorted(lines)] for use, lines in chosen.items()}
        return sets, [pair for line, pair in enumerate(pairs) if line not in removed]

    def take(self, *pair: str) -> bool:
        sides = list(zip(self.held_out, pair, strict=True))
        if any(side.has(text) for side, text in sides) or self.clean(*pair).rule is not None:
            return False
        for side, text in sides:
            side.add(text, nearly=True)
        return True


def is_measurable(en: str, de: str) -> bool:
    """Whether a pair is long enough that text without it lacks nothing."""
    enough = len(en.split()) >= SOURCE_WORDS and len(de.split()) >= TARGET_WORDS
    return enough and all(sum(map(str.isalpha, text)) >= LETTERS for text in (en, de))


def write_pairs(folder: Path, name: str, language: str, pairs: Iterable[Pair]) -> None:
    with (
        (folder / f"{name}.en").open("w", encoding="utf-8", newline="\n") as en,
        (folder / f"{name}.{language}").open("w", encoding="utf-8", newline="\n") as other,
    ):
        for pair in pairs:
            en.write(pair[0] + "\n")
            other.write(pair[1] + "\n")


def cut_domains(
    data: Path, folder: Path, language: str, seed: int, dev: int, test: int, block: int
) -> dict[str, Counter[str]]:
    """Do it all; tells for each corpus how many pairs there were, and what became of them."""
    folder.mkdir(parents=True, exist_ok=True)
    held_out = read_held_out(data, language)
    for side, code in zip(held_out, ("en", language), strict=True):
        for text in read_everyday(code) if code in ("en", "de") else ():
            side.add(text)
    corpora = {
        name: [(en, other) for en, other, *_ in read_table(path) if not CREDITS.fullmatch(en)]
        for name, stem in DOMAINS.items()
        if (path := data / f"{stem}.en-{language}.tsv.xz").exists()
    }
    domains = [name for name, pairs in corpora.items() if language == "de" or len(pairs) >= LARGE * (dev + test)]
    if language == "de":
        corpora["tatoeba"] = list(read_pairs(data / TATOEBA, "de"))
    counts = {name: Counter(read=len(pairs)) for name, pairs in corpora.items()}

    cutter, mixed = Cutter(held_out, language, seed, dev, test), list[Pair]()
    for name in [*domains, *(name for name in corpora if name == "tatoeba")]:
        # Sentences of Tatoeba belong to no document, and are sorted by length. It has a test set.
        sets, corpora[name] = cutter.cut(name, corpora[name], 1 if name == "tatoeba" else block)
        counts[name]["cut"] = counts[name]["read"] - len(corpora[name])
        for use in ("dev",) if name == "tatoeba" else ("dev", "test"):
            write_pairs(folder, f"{name}.{use}", language, sets[use])
        if name in domains:
            mixed += random.Random(f"{seed} mixed {name}").sample(sets["dev"], min(MIXED, dev))
    write_pairs(folder, "domains.dev", language, mixed)

    purge = Purge(*held_out)

    def write_train(name: str, pairs: Iterable[Pair], nearly: bool = False) -> None:
        write_pairs(folder, f"{name}.train", language, purge(pairs, counts[name], nearly))

    tatoeba = corpora.pop("tatoeba", [])
    for name, pairs in corpora.items():
        write_train(name, pairs, nearly=True)
    for name, stem in WORDS.items():
        if (path := data / f"{stem}.en-{language}.tsv.xz").exists():
            rows = list(read_table(path))
            pairs = choose_entries(rows) if name == "dictionary" else [(row[0], row[1]) for row in rows]
            counts[name] = Counter(read=len(rows), unsuited=len(rows) - len(pairs))
            write_train(name, pairs)
    if language == "de":
        write_train("tatoeba", tatoeba)
        counts["europarl"] = Counter()
        write_train("europarl", read_pairs(data / EUROPARL, "de"))
        counts["europarl"]["read"] = counts["europarl"].total()
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--to", default="de", choices=list(MEASURED), help="the language beside English")
    parser.add_argument("--seed", type=int, default=24)
    parser.add_argument("--dev", type=int, default=500, help="pairs of each dev set")
    parser.add_argument("--test", type=int, default=1000, help="pairs of each test set")
    parser.add_argument("--block", type=int, default=BLOCK, help="consecutive lines that are held out together")
    said = parser.parse_args()
    counts = cut_domains(said.data, said.output, said.to, said.seed, said.dev, said.test, said.block)
    rows = {name: {column: count[column] for column in COLUMNS} for name, count in counts.items()}
    (said.output / "counts.json").write_text(json.dumps({"seed": said.seed, "pairs": rows}, indent=1) + "\n")
    for line in (("", *COLUMNS), *((name, *row.values()) for name, row in rows.items())):
        sys.stdout.write("".join(f"{cell:>14}" for cell in line) + "\n")


if __name__ == "__main__":
    main()
