"""Gather the training text of the next model of seven languages: purge it, and pack it for the machine that trains.

    python -m tools.voice_text DATA DOMAINS ROWS -o FOLDER [--taught GITDIR] [--fresh NAME ...]

DATA has the corpora that its README lists (`daily`, `written`, `flores` and the others), `found` (tools/found_text.py)
and `sealed`, the closed tests of data/closed, whose lines nobody reads. DOMAINS has the folders domains-en-de,
domains-en-fr and so on (tools/cut_domains.py). ROWS is a file of seven-way lines of Parliament in their order, an
empty line between speeches. GITDIR is the git folder of mozilla/firefox-translations-models, whose evaluation holds
translations of news of past years by models that are better than ours: a teacher's text. NAMEs are files of `written`
that the model to train from has not learned: their lines are kept apart, since they teach most.

FOLDER gets NAME.en-de.tsv.xz and so on, and `sets` with the dev and test sets. Nothing in it equals a sentence of any
set that models are measured on, and the text of daily life is not nearly equal to one either. tools/voice_pairs.py
makes the text of all 21 pairs of languages from it, on the training machine: that is several times as large.
"""

import argparse
import lzma
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import NamedTuple

from tools.corpus_files import Pair, read_lines, read_table
from tools.cut_domains import Purge, is_measurable
from tools.held_out_text import HeldOutText, fold, read_held_out, words

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")
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
"""The corpora of `daily` by what they teach: each group has a weight of its own. `stories` is text of games that
tools/debian_text.py reads (debian_games.txt), `apps` is from tools/app_text.py."""
DEV_GROUPS, DEV_BLOCKS, BLOCK = ("news", "talk", "letters", "events", "shops"), 3, 20
HELD_OUT_EVERY = 20
"""Of the written lines, and of their connected texts, each twentieth is a test."""
TAUGHT_SETS = frozenset(f"wmt{year}" for year in ("08", "09", "10", "11", "15", "16", "18", "19", "20"))
"""News of other years than those that models are measured on (2013, 2014, 2017, 2023)."""
MOST_CATALOGUES = 450_000
PRESET = 1
"""Of xz: five times as fast as the default, for files an eighth larger."""
Row = Sequence[str]


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    with lzma.open(path, "wt", preset=PRESET, encoding="utf-8", newline="\n") as file:
        file.writelines("\t".join(row) + "\n" for row in rows if not any("\t" in cell for cell in row))


def is_held_out(number: int) -> bool:
    """Whether a written line, or a connected text, is a test: by its number in its file, from 0."""
    return number % HELD_OUT_EVERY == 7


class Written(NamedTuple):
    """The sentences that were written for Hark."""

    known: list[Row]
    """Those to train on again."""
    fresh: list[Row]
    """Those to train on for the first time."""
    test: list[Row]
    texts: list[list[Row]]
    """The connected texts among those to train on."""


def read_written(folder: Path, fresh_names: Collection[str]) -> Written:
    known: list[Row] = []
    fresh: list[Row] = []
    test: list[Row] = []
    texts: list[list[Row]] = []
    for path in sorted(folder.glob("*.tsv.xz")):
        rows = [line.split("\t") for line in read_lines(path)]
        train = fresh if path.name.split(".")[0] in fresh_names else known
        if ".text." not in path.name:
            for number, row in enumerate(row for row in rows if len(row) == len(LANGUAGES)):
                (test if is_held_out(number) else train).append(row)
            continue
        for number, text in enumerate(split_texts(rows)):
            if is_held_out(number):
                test += text
            else:
                train += text
                texts.append(text)
    held_out = {fold(cell) for row in test for cell in row if len(cell.split()) >= 4}

    def purge(rows: list[Row]) -> list[Row]:
        return [row for row in rows if not any(fold(cell) in held_out for cell in row)]

    return Written(purge(known), purge(fresh), test, texts)


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


def measured(data: Path, domains: Path, language: str, test: Iterable[Row]) -> tuple[HeldOutText, HeldOutText]:
    """All text of a pair of languages that must not be trained on."""
    held_out = read_held_out(data, language)
    for side, code in zip(held_out, ("en", language), strict=True):
        for row in test:
            side.add(row[LANGUAGES.index(code)], nearly=True)
        for line in read_lines(data / f"flores/dev.{code}.xz"):
            side.add(line, nearly=True)
    for use in ("dev", "test"):
        for name in domain_names(domains, use):
            for pair in read_domain(domains, name, use, language):
                for side, text in zip(held_out, pair, strict=True):
                    side.add(text, nearly=True)
    return held_out


Folds = dict[str, set[bytes]]


def gather_pair(data: Path, domains: Path, language: str, test: Iterable[Row], folder: Path) -> Folds:
    """Purge the text of English and another language; return all of theirs that is held out."""
    held_out = measured(data, domains, language, test)
    groups = {
        group: [
            (row[0], row[1])
            for name in names
            if (path := data / f"daily/{name}.en-{language}.tsv.xz").exists()
            for row in read_table(path)
            if len(row) >= 2 and row[0].strip() and row[1].strip()
        ]
        for group, names in DAILY.items()
    }
    for number, side in enumerate(held_out):
        side.index_lines(Counter(word for rows in groups.values() for row in rows for word in words(row[number])))
    dev: list[Pair] = []
    for group in DEV_GROUPS:
        starts = list(range(0, max(0, len(groups[group]) - BLOCK), BLOCK))
        for start in random.Random(f"{group} {language}").sample(starts, min(DEV_BLOCKS, len(starts))):
            dev += [pair for pair in groups[group][start : start + BLOCK] if is_measurable(*pair)]
    for pair in dev:
        for side, text in zip(held_out, pair, strict=True):
            side.add(text)
    (folder / f"sets/daily-dev.en-{language}.tsv").write_text("".join(f"{en}\t{other}\n" for en, other in dev))
    purge, counts = Purge(held_out), Counter[str]()
    for group, rows in groups.items():
        write_rows(folder / f"{group}.en-{language}.tsv.xz", purge(rows, counts, nearly=True))
    for name in domain_names(domains, "train"):
        if name == "europarl":  # ROWS has it
            continue
        pairs = read_domain(domains, name, "train", language)
        pairs = random.Random(name).sample(pairs, min(len(pairs), MOST_CATALOGUES))
        kept = (pair for pair in pairs if not any(s.has(text) for s, text in zip(held_out, pair, strict=True)))
        write_rows(folder / f"{name}.en-{language}.tsv.xz", kept)
    sys.stdout.write(f"en-{language}: {dict(counts)}\n")
    return {code: side.folded for code, side in zip(("en", language), held_out, strict=True)}


def gather_found(data: Path, held_out: Folds, folder: Path) -> None:
    """Purge the small corpora that were found: lines of many languages, of one, and words."""
    for path in (folder / "sets").glob("*.tsv"):
        codes = path.stem.split(".")[1].split("-")
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            for code, text in zip(codes, line.split("\t"), strict=True):
                held_out[code].add(fold(text))
    for code in LANGUAGES:
        held_out[code].discard(b"")

    def is_free(code: str, text: str) -> bool:
        return fold(text) not in held_out[code]

    many = read_table(data / "found/many.tsv.xz")
    kept = [row for row in many if all(is_free(code, cell) for code, cell in zip(LANGUAGES, row, strict=True))]
    write_rows(folder / "many.tsv.xz", kept)
    lines = {
        code: [(line,) for line in read_lines(data / f"found/mono.{code}.xz") if is_free(code, line)]
        for code in LANGUAGES
    }
    for code, sentences in lines.items():
        write_rows(folder / f"mono.{code}.tsv.xz", sentences)
    for path in sorted((data / "found").glob("words.*.tsv.xz")):
        words_of = list(read_table(path))
        senses = Counter(row[0] for row in words_of)
        write_rows(folder / path.name, (row for row in words_of if senses[row[0]] == 1))
    for path in sorted((data / "found").glob("taught.*.tsv.xz")):
        codes = path.name.split(".")[1].split("-")
        pairs = (row for row in read_table(path) if all(map(is_free, codes, row)))
        write_rows(folder / path.name, pairs)
    sys.stdout.write(f"found: {len(kept):,} lines of many languages, {sum(map(len, lines.values())):,} of one\n")


def gather_parliament(data: Path, rows: Path, folder: Path) -> None:
    """Purge the seven-way lines, each once, in their order; an empty line stands where some are missing."""
    held_out: set[bytes] = set()
    for stem in ("europarl-seven/dev", "europarl-seven/test", "europarl-en-de/dev", "europarl-en-de/test",
                 "europarl-en-fr/dev", "europarl-en-fr/test", "flores/dev", "alignment-de-en/test.uc"):  # fmt: skip
        for file in sorted(data.glob(f"{stem}.*.xz")):
            held_out |= {fold(line) for line in read_lines(file)}
    held_out.discard(b"")
    seen: set[str] = set()
    kept: list[Row] = []
    with rows.open(encoding="utf-8") as opened:
        for line in opened:
            row = line.rstrip("\n").split("\t")
            good = len(row) == len(LANGUAGES) and not any(fold(cell) in held_out for cell in row)
            if good and row[0] not in seen:
                seen.add(row[0])
                kept.append(row)
            elif not good and kept and kept[-1]:
                kept.append(())
    for place, language in enumerate(LANGUAGES):
        with lzma.open(
            folder / f"parliament.{language}.xz", "wt", preset=PRESET, encoding="utf-8", newline="\n"
        ) as packed:
            packed.writelines((row[place] if row else "") + "\n" for row in kept)
    sys.stdout.write(f"parliament: {len(seen):,} lines\n")


def gather_taught(repository: Path, data: Path, folder: Path) -> None:
    """Write the translations of news by Mozilla's models, in the direction in which they were made."""

    def show(name: str) -> list[str]:
        command = ["git", "--git-dir", str(repository), "show", f"HEAD:{name}"]
        return subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\n")

    command = ["git", "--git-dir", str(repository), "ls-tree", "-r", "--name-only", "HEAD", "evaluation"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    measured_text = {
        fold(line)
        for stem in ("flores/dev", "news/newstest2013", "news/newstest2014", "news/newstest2014-fr")
        for file in data.glob(f"{stem}.*.xz")
        for line in read_lines(file)
    }
    for source, target in ((s, t) for s in LANGUAGES for t in LANGUAGES if s != t):
        pattern = re.compile(rf"evaluation/{source}-{target}/(\w+)\.bergamot-(?:base|base-memory|tiny)\.{target}")
        pairs: dict[Pair, None] = {}
        for match in filter(None, map(pattern.fullmatch, names)):
            if match[1] not in TAUGHT_SETS:
                continue
            lines = show(f"evaluation/{source}-{target}/{match[1]}.{source}"), show(match[0])
            for pair in zip(*(map(str.strip, side) for side in lines), strict=True):
                if all(pair) and pair[0] != pair[1] and not any(fold(text) in measured_text for text in pair):
                    pairs[pair] = None
        if pairs:
            write_rows(folder / f"news-taught.{source}-{target}.tsv.xz", pairs)
            sys.stdout.write(f"news-taught {source}-{target}: {len(pairs):,}\n")


def copy_sets(data: Path, domains: Path, many: Mapping[str, Sequence[Row]], folder: Path) -> None:
    """Write the dev and test sets as tables, NAME.en-de.tsv: tools/voice_pairs.py lists them in the recipe."""

    def put(name: str, pair: tuple[str, str], one: Iterable[str], other: Iterable[str]) -> None:
        rows = zip(one, other, strict=True)
        (folder / f"{name}.{'-'.join(pair)}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows), encoding="utf-8")

    def put_files(name: str, pair: tuple[str, str], stem: str) -> None:
        put(name, pair, *(read_lines(data / f"{stem}.{code}.xz") for code in pair))

    for pair in combinations(LANGUAGES, 2):
        put_files("europarl-test", pair, "europarl-seven/test")
        rows = list(read_table(data / f"tatoeba-seven/{'-'.join(pair)}.test.tsv.xz"))
        put("tatoeba-test", pair, (row[0] for row in rows), (row[1] for row in rows))
        for name, test in many.items():
            put(name, pair, *([row[LANGUAGES.index(code)] for row in test] for code in pair))
        if pair[0] == "en":
            put_files("flores-dev", pair, "flores/dev")
            folder_of_pair = domains / f"domains-en-{pair[1]}"
            for use in ("dev", "test"):
                for name in domain_names(folder_of_pair, use):
                    if use == "test" or name == "domains":
                        pairs = read_domain(folder_of_pair, name, use, pair[1])
                        put(f"{name}-dev" if use == "dev" else name, pair, *zip(*pairs, strict=True))
    for pair in (("en", "de"), ("fr", "es"), ("it", "nl")):
        put_files("europarl-dev", pair, "europarl-seven/dev")
    for name in ("newstest2013", "newstest2014"):
        put_files(f"{name}-dev" if name.endswith("3") else name, ("en", "de"), f"news/{name}")
    put_files("newstest2014", ("en", "fr"), "news/newstest2014-fr")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("domains", type=Path)
    parser.add_argument("rows", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--taught", type=Path, metavar="GITDIR")
    parser.add_argument("--fresh", nargs="+", default=(), metavar="NAME")
    said = parser.parse_args()
    (said.output / "sets").mkdir(parents=True, exist_ok=True)
    written = read_written(said.data / "written", said.fresh)
    closed = {
        path.name.split(".")[0]: [row[1:] for row in read_table(path)]
        for path in sorted((said.data / "sealed").glob("*.tsv.xz"))
    }
    write_rows(said.output / "written.tsv.xz", written.known)
    write_rows(said.output / "written-fresh.tsv.xz", written.fresh)
    write_rows(said.output / "written-texts.tsv.xz", (row for text in written.texts for row in (*text, ("",))))
    copy_sets(said.data, said.domains, {"written-test": written.test, **closed}, said.output / "sets")
    held_out: Folds = {code: set() for code in LANGUAGES}
    gather_parliament(said.data, said.rows, said.output)
    for language in LANGUAGES[1:]:
        measured_on = [*written.test, *chain.from_iterable(closed.values())]
        folds = gather_pair(said.data, said.domains / f"domains-en-{language}", language, measured_on, said.output)
        for code, folded in folds.items():
            held_out[code] |= folded
    gather_found(said.data, held_out, said.output)
    for pair in combinations(LANGUAGES, 2):
        if (path := said.data / f"tatoeba-seven/{'-'.join(pair)}.tsv.xz").exists():
            write_rows(said.output / f"tatoeba.{'-'.join(pair)}.tsv.xz", ((r[0], r[1]) for r in read_table(path)))
    french = (read_lines(said.data / f"tatoeba-en-fr/train.{code}.xz") for code in ("en", "fr"))
    write_rows(said.output / "tatoeba.en-fr.tsv.xz", zip(*french, strict=True))
    if said.taught:
        gather_taught(said.taught, said.data, said.output)


if __name__ == "__main__":
    main()
