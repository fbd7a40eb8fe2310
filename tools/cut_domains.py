"""Cut dev and test sets from text of many domains, and make training text that knows none of them.

    python -m tools.cut_domains DATA -o FOLDER [--to de|fr|es|it|nl|pt]

DATA holds the corpora (`debian`, `github`, `europarl-en-de`, `tatoeba-en-de`) and what models are measured on
(`news`, `multi30k` and others); for Italian, Dutch and Portuguese, tools/debian_text.py makes `debian`. FOLDER gets
NAME.train.en, NAME.train.de, the same for dev and test, the mixed dev set `domains.dev`, and counts.json. The same text
and seed give the same files, byte for byte. Languages other than German have fewer domains, and their Parliament and
Tatoeba need no cutting: `hark prepare` removes what is in their test sets.

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
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hark.config import CleanConfig
from hark.data.filters import Cleaner
from hark.data.held_out import essence
from tools.corpus_files import Pair, read_pairs, read_table
from tools.dictionary_entries import choose_entries
from tools.held_out_text import MEASURED, HeldOutText, read_everyday, read_held_out, words

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
KNOWN = {"tatoeba": "tatoeba-en-de/train", "europarl": "europarl-en-de/train"}
"""English-German corpora with test sets of their own."""

BLOCK = 40
"""Consecutive lines that are held out together."""
MIXED = 100
"""Pairs of each domain in the mixed dev set."""
SOURCE_WORDS, TARGET_WORDS, LETTERS = 3, 2, 12
"""What a pair has at least that is measured on."""

CREDITS = re.compile(r"your (?:names?|emails?)\W*|translator-credits", re.IGNORECASE)


def read_domain(path: Path) -> list[Pair]:
    """The pairs of a corpus, without the credits of translators, which differ by file and translate nothing."""
    return [(en, de) for en, de, *_ in read_table(path) if not CREDITS.fullmatch(en)]


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
                if not is_measurable(*pairs[line]):
                    continue
                removed.add(line)
                if len(chosen[use]) < self.sizes[use] and self.take(*pairs[line]):
                    chosen[use].append(line)
        else:
            if any(len(chosen[use]) < size for use, size in self.sizes.items()):
                raise SystemExit(f"{name}: {len(pairs):,} pairs are too few for dev and test sets")
        sets = {use: [pairs[line] for line in sorted(lines)] for use, lines in chosen.items()}
        return sets, [pair for line, pair in enumerate(pairs) if line not in removed]

    def take(self, en: str, de: str) -> bool:
        if any(side.has(text) for side, text in zip(self.held_out, (en, de), strict=True)):
            return False
        if self.clean(en, de).rule is not None:
            return False
        for side, text in zip(self.held_out, (en, de), strict=True):
            side.add(text, nearly=True)
        return True


def is_measurable(en: str, de: str) -> bool:
    """Whether a pair is long enough that text without it lacks nothing."""
    enough = len(en.split()) >= SOURCE_WORDS and len(de.split()) >= TARGET_WORDS
    return enough and all(sum(map(str.isalpha, text)) >= LETTERS for text in (en, de))


class Purge:
    """Passes on what may be trained on, and counts what may not."""

    def __init__(self, held_out: tuple[HeldOutText, HeldOutText]) -> None:
        self.held_out = held_out
        self.seen: set[int] = set()

    def __call__(self, pairs: Iterable[Pair], counts: Counter[str], nearly: bool) -> Iterator[Pair]:
        for pair in pairs:
            sides = list(zip(self.held_out, pair, strict=True))
            key = hash((essence(pair[0]), essence(pair[1])))
            if any(side.has(text) for side, text in sides):
                counts["equal"] += 1
            elif key in self.seen:
                counts["repeated"] += 1
            elif nearly and any(side.has_nearly(text) for side, text in sides):
                counts["nearly equal"] += 1
            else:
                self.seen.add(key)
                counts["train"] += 1
                yield pair


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
        if code in ("en", "de"):
            for text in read_everyday(code):
                side.add(text)

    cutter = Cutter(held_out, language, seed, dev, test)
    corpora = {
        name: read_domain(path)
        for name, stem in DOMAINS.items()
        if (path := data / f"{stem}.en-{language}.tsv.xz").exists()
    }
    domains = [name for name, pairs in corpora.items() if language == "de" or len(pairs) >= LARGE * (dev + test)]
    if language == "de":
        corpora["tatoeba"] = list(read_pairs(data / KNOWN["tatoeba"]))
    counts = {name: Counter(read=len(pairs)) for name, pairs in corpora.items()}
    mixed: list[Pair] = []
    for name, pairs in corpora.items():
        if name not in domains and name not in KNOWN:
            continue
        # Sentences of Tatoeba belong to no document, and are sorted by length.
        sets, corpora[name] = cutter.cut(name, pairs, block if name in domains else 1)
        counts[name]["cut"] = len(pairs) - len(corpora[name])
        for use, chosen in sets.items():
            if name in domains or use == "dev":  # it has a test set
                write_pairs(folder, f"{name}.{use}", language, chosen)
        if name in domains:
            mixed += random.Random(f"{seed} mixed {name}").sample(sets["dev"], min(MIXED, dev))
    write_pairs(folder, "domains.dev", language, mixed)

    for number, side in enumerate(held_out):
        frequency = Counter(word for name in domains for pair in corpora[name] for word in words(pair[number]))
        side.index_lines(frequency)
    purge = Purge(held_out)
    for name in [name for name in corpora if name not in KNOWN]:
        write_pairs(folder, f"{name}.train", language, purge(corpora.pop(name), counts[name], nearly=True))
    for name, stem in WORDS.items():
        if not (path := data / f"{stem}.en-{language}.tsv.xz").exists():
            continue
        rows = list(read_table(path))
        pairs = choose_entries(rows) if name == "dictionary" else [(row[0], row[1]) for row in rows]
        counts[name] = Counter(read=len(rows), unsuited=len(rows) - len(pairs))
        write_pairs(folder, f"{name}.train", language, purge(pairs, counts[name], nearly=False))
    if language == "de":
        write_pairs(folder, "tatoeba.train", "de", purge(corpora.pop("tatoeba"), counts["tatoeba"], nearly=False))
        counts["europarl"] = Counter()
        parliament = purge(read_pairs(data / KNOWN["europarl"]), counts["europarl"], nearly=False)
        write_pairs(folder, "europarl.train", "de", parliament)
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
    columns = ("read", "unsuited", "cut", "equal", "nearly equal", "repeated", "train")
    rows = {name: {column: count[column] for column in columns} for name, count in counts.items()}
    (said.output / "counts.json").write_text(json.dumps({"seed": said.seed, "pairs": rows}, indent=1) + "\n")
    sys.stdout.write(f"{'':14}" + "".join(f"{column:>14}" for column in columns) + "\n")
    for name, row in rows.items():
        sys.stdout.write(f"{name:14}" + "".join(f"{row[column]:14,}" for column in columns) + "\n")


if __name__ == "__main__":
    main()
