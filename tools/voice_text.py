"""Gather the training text of the next model of seven languages: purge it, and pack it for the machine that trains.

    python -m tools.voice_text DATA DOMAINS -o FOLDER [--fresh NAME ...]

DATA has the corpora that its README lists, `sealed`, the closed tests of data/closed, whose lines nobody reads, and
`found`, other corpora: tables NAME.en-de.tsv.xz, tables of seven columns NAME.tsv.xz such as `parliament`, and
mono.de.xz, sentences of one language. DOMAINS has the folders domains-en-de, domains-en-fr and so on
(tools/cut_domains.py). NAMEs are files of `written` that the model to train from has not learned: their lines are kept
apart, since they teach most.

FOLDER gets NAME.en-de.tsv.xz and so on, `sets` with the dev and test sets, and mono.en-de.xz: English sentences that
`hark translate` makes German sources of (back-translation). Nothing in it equals a sentence of any set that models are
measured on, and the text of daily life is not nearly equal to one either. tools/voice_pairs.py goes on from there.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, combinations, permutations
from pathlib import Path
from typing import NamedTuple

from hark.text.numerals import LANGUAGES
from tools.cut_domains import is_measurable
from tools.held_out_text import HeldOutText, Purge, fold, read_held_out
from tools.tables import Pair, Row, read_lines, read_pairs, read_table, write_table

DAILY = {
    "news": ("wmt-news",),
    "talk": ("bcontrast-train", "woz", "cocoa-mt-train", "storybook"),
    "letters": ("datenanfragen", "fsfe", "corona-warn-app", "mozilla-legal", "cc-legal", "udhr"),
    "encyclopedia": ("mt-geneval", "mlqe-pe"),
    "events": ("pretix", "indico", "gnome-recipes"),
    "shops": ("odoo", "dolibarr", "erpnext", "shopware", "openfoodnetwork", "foodsoft", "tryton"),
    "household": ("homeassistant", "osmand", "gnuhealth"),
    "goods": ("openfoodfacts", "mealie-kitchenowl", "osm-tagging"),
    "stories": ("stories",),
    "apps": ("apps",),
}
"""The corpora of `daily` by what they teach: each group has a weight of its own."""
DEV_GROUPS, DEV_BLOCKS, BLOCK = ("news", "talk", "letters", "events", "shops"), 3, 20
HELD_OUT_EVERY = 20
"""Of the written lines, and of their connected texts, each twentieth is a test."""
MOST_OF_DOMAIN = 450_000
FROM_ENGLISH, INTO_ENGLISH, ELSE = 36_000, 60_000, 3_000
"""Sentences of each pair to translate back."""
HeldOut = dict[str, HeldOutText]
"""By language."""


def is_held_out(number: int) -> bool:
    """Whether a written line, or a connected text, is a test: by its number in its file, from 0."""
    return number % HELD_OUT_EVERY == 7


class Written(NamedTuple):
    """The sentences that were written for Hark: to train on again and for the first time, the connected texts among
    these, and a test."""

    known: list[Row]
    fresh: list[Row]
    texts: list[list[Row]]
    test: list[Row]


def read_written(folder: Path, fresh_names: Collection[str]) -> Written:
    written = Written([], [], [], [])
    for path in sorted(folder.glob("*.tsv.xz")):
        rows: Iterable[Row] = read_table(path)
        train = written.fresh if path.name.split(".")[0] in fresh_names else written.known
        connected = ".text." in path.name
        texts = list(split_texts(rows if connected else chain.from_iterable((row, ()) for row in rows)))
        for number, text in enumerate(texts):
            (written.test if is_held_out(number) else train).extend(text)
        if connected:
            written.texts.extend(text for number, text in enumerate(texts) if not is_held_out(number))
    held_out = {fold(cell) for row in written.test for cell in row if len(cell.split()) >= 4}
    for train in (written.known, written.fresh):
        train[:] = [row for row in train if not any(fold(cell) in held_out for cell in row)]
    return written


def split_texts(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield the texts that empty lines divide."""
    text: list[Row] = []
    for row in (*rows, ()):
        if len(row) == len(LANGUAGES):
            text.append(row)
        elif text:
            yield text
            text = []


def read_domain(folder: Path, name: str, use: str, language: str) -> list[Pair]:
    files = [folder / f"{name}.{use}.{code}" for code in ("en", language)]
    sides = [file.read_text(encoding="utf-8").split("\n")[:-1] for file in files]
    return list(zip(*sides, strict=True))


def domain_names(folder: Path, use: str) -> list[str]:
    return sorted(file.name.split(".")[0] for file in folder.glob(f"*.{use}.en"))


class Sets:
    """Writes the dev and test sets, NAME.en-de.tsv: tools/voice_pairs.py lists them in the recipe. `held_out` are their
    lines, and all others that models are measured on."""

    def __init__(self, data: Path, folder: Path) -> None:
        self.data, self.folder = data, folder
        self.held_out: HeldOut = {code: HeldOutText() for code in LANGUAGES}
        for language in LANGUAGES[1:]:
            for code, side in zip(("en", language), read_held_out(data, language), strict=True):
                self.held_out[code].folded |= side.folded

    def add(self, name: str, codes: Sequence[str], rows: Iterable[Row], nearly: bool = True) -> None:
        """Write a set for each pair of these languages, the columns of the rows."""
        rows = list(rows)
        self.hold_out(codes, rows, nearly)
        for (one, source), (other, target) in combinations(enumerate(codes), 2):
            if rows:
                lines = (f"{row[one]}\t{row[other]}\n" for row in rows)
                (self.folder / f"{name}.{source}-{target}.tsv").write_text("".join(lines), encoding="utf-8")

    def hold_out(self, codes: Sequence[str], rows: Iterable[Row], nearly: bool = True) -> None:
        for row in rows:
            for code, text in zip(codes, row, strict=True):
                self.held_out[code].add(text, nearly)

    def add_files(self, name: str, codes: Sequence[str], stem: str, nearly: bool = False) -> None:
        columns = (read_lines(self.data / f"{stem}.{code}.xz") for code in codes)
        self.add(name, codes, zip(*columns, strict=True), nearly)


def write_sets(sets: Sets, domains: Path, written_test: Iterable[Row]) -> None:
    sets.add("written-test", LANGUAGES, written_test)
    for path in sorted((sets.data / "sealed").glob("*.tsv.xz")):
        sets.add(path.name.split(".")[0], LANGUAGES, (row[1:] for row in read_table(path)))
    sets.add_files("europarl-test", LANGUAGES, "europarl-seven/test")
    for pair in combinations(LANGUAGES, 2):
        table = read_table(sets.data / f"tatoeba-seven/{'-'.join(pair)}.test.tsv.xz")
        sets.add("tatoeba-test", pair, (row[:2] for row in table), nearly=False)
    for pair in (("en", code) for code in LANGUAGES[1:]):
        sets.add_files("flores-dev", pair, "flores/dev", nearly=True)
        folder = domains / f"domains-en-{pair[1]}"
        for name in domain_names(folder, "test"):
            sets.add(name, pair, read_domain(folder, name, "test", pair[1]))
        for name in domain_names(folder, "dev"):
            sets.hold_out(pair, read_domain(folder, name, "dev", pair[1]))
        sets.add("domains-dev", pair, read_domain(folder, "domains", "dev", pair[1]))
    for pair in (("en", "de"), ("fr", "es"), ("it", "nl")):
        sets.add_files("europarl-dev", pair, "europarl-seven/dev")
    sets.add_files("newstest2013-dev", ("en", "de"), "news/newstest2013")
    sets.add_files("newstest2014", ("en", "de"), "news/newstest2014")
    sets.add_files("newstest2014", ("en", "fr"), "news/newstest2014-fr")


def read_daily(data: Path, language: str) -> dict[str, list[Pair]]:
    """The pairs of each group of `daily`."""
    return {
        group: [
            (row[0], row[1])
            for name in names
            if (path := data / f"daily/{name}.en-{language}.tsv.xz").exists()
            for row in read_table(path)
        ]
        for group, names in DAILY.items()
    }


def draw_dev(groups: dict[str, list[Pair]], language: str) -> Iterator[Pair]:
    """Blocks of consecutive lines of daily life."""
    for group in DEV_GROUPS:
        starts = list(range(0, max(0, len(groups[group]) - BLOCK), BLOCK))
        for start in random.Random(f"{group} {language}").sample(starts, min(DEV_BLOCKS, len(starts))):
            yield from (pair for pair in groups[group][start : start + BLOCK] if is_measurable(*pair))


def gather_pair(groups: dict[str, list[Pair]], domains: Path, language: str, held_out: HeldOut, folder: Path) -> None:
    purge, counts = Purge(held_out["en"], held_out[language]), Counter[str]()
    for group, pairs in groups.items():
        write_table(folder / f"{group}.en-{language}.tsv.xz", purge(pairs, counts, nearly=True))
    for name in domain_names(domains, "train"):
        if name != "europarl":  # of which there is more in all languages
            pairs = read_domain(domains, name, "train", language)
            pairs = random.Random(name).sample(pairs, min(len(pairs), MOST_OF_DOMAIN))
            write_table(folder / f"{name}.en-{language}.tsv.xz", purge(pairs, counts))
    sys.stdout.write(f"en-{language}: {dict(counts)}\n")


def gather_found(data: Path, held_out: HeldOut, folder: Path) -> None:
    """Purge other corpora: tables of pairs and of all languages, words, and sentences to translate back."""
    counts = Counter[str]()
    for path in sorted((data / "found").glob("*.tsv.xz")):
        name, codes = path.name.removesuffix(".tsv.xz").partition(".")[::2]
        languages = codes.split("-") if codes else LANGUAGES
        rows = [row for row in read_table(path) if len(row) == len(languages)]
        if name == "words":
            senses = Counter(row[0] for row in rows)
            write_table(folder / path.name, (row for row in rows if senses[row[0]] == 1))
        else:
            write_table(folder / path.name, Purge(*(held_out[code] for code in languages))(rows, counts))
    sentences: dict[str, list[Row]] = {}
    for code in LANGUAGES:
        lines = ((line,) for line in read_lines(data / f"found/mono.{code}.xz"))
        sentences[code] = list(Purge(held_out[code])(lines, counts))
    for source, target in permutations(LANGUAGES, 2):
        most = FROM_ENGLISH if source == "en" else INTO_ENGLISH if target == "en" else ELSE
        drawn = random.Random(f"{source} {target}").sample(sentences[source], min(most, len(sentences[source])))
        write_table(folder / f"mono.{source}-{target}.xz", drawn)
    sys.stdout.write(f"found: {dict(counts)}\n")


def copy_tatoeba(data: Path, folder: Path) -> None:
    """`hark prepare` removes what is in its test sets."""
    for pair in combinations(LANGUAGES, 2):
        if (path := data / f"tatoeba-seven/{'-'.join(pair)}.tsv.xz").exists():
            write_table(folder / f"tatoeba.{'-'.join(pair)}.tsv.xz", (row[:2] for row in read_table(path)))
    write_table(folder / "tatoeba.en-fr.tsv.xz", read_pairs(data / "tatoeba-en-fr/train", "fr"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("domains", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--fresh", nargs="+", default=(), metavar="NAME")
    said = parser.parse_args()
    data, domains, folder = said.data, said.domains, said.output
    (folder / "sets").mkdir(parents=True, exist_ok=True)
    written = read_written(data / "written", said.fresh)
    write_table(folder / "written.tsv.xz", written.known)
    write_table(folder / "written-fresh.tsv.xz", written.fresh)
    write_table(folder / "written-texts.tsv.xz", chain.from_iterable((*text, ("",)) for text in written.texts))
    sets = Sets(data, folder / "sets")
    write_sets(sets, domains, written.test)
    daily = {language: read_daily(data, language) for language in LANGUAGES[1:]}
    for language, groups in daily.items():
        sets.add("daily-dev", ("en", language), draw_dev(groups, language), nearly=False)
    for language, groups in daily.items():
        gather_pair(groups, domains / f"domains-en-{language}", language, sets.held_out, folder)
    gather_found(data, sets.held_out, folder)
    copy_tatoeba(data, folder)


if __name__ == "__main__":
    main()
