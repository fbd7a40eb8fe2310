"""Gather small corpora that stand in public repositories and Debian packages, for tools/voice_text.py.

    python -m tools.found_text MIRROR -o FOLDER [--dictionaries FOLDER]

MIRROR has bare git folders OWNER+NAME/repo of these repositories; those that are missing are skipped with a note:

- MicrosoftTranslator/NTREX: news of 2019 in many languages (CC BY-SA 4.0)
- UniversalDependencies/UD_{English,German,French,Spanish,Italian,Portuguese}-PUD: news and encyclopedia (CC BY-SA 3.0)
- google-deepmind/xquad: paragraphs and questions of an encyclopedia (CC BY-SA 4.0)
- tico-19/tico-19.github.io: health, talk with a doctor (CC0)
- common-voice/common-voice: sentences of one language, to be spoken (CC0)

--dictionaries is a folder into which Debian's dict-freedict-* packages were unpacked (GPL).

FOLDER gets many.tsv.xz, seven columns of which some may be empty; mono.LANGUAGE.xz, sentences of one language; and
words.SOURCE-TARGET.tsv.xz, words of two languages.
"""

import argparse
import gzip
import json
import lzma
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import permutations
from pathlib import Path

from lxml import etree
from sentencex import segment

from tools.voice_text import LANGUAGES, write_rows

Row = list[str]
NTREX = dict(zip(LANGUAGES, ("eng", "deu", "fra", "spa", "ita", "nld", "por"), strict=True))
PUD = {"en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese"}
TICO = {"fr": "en-fr", "es": "en-es-419", "pt": "en-pt-BR"}
UNSPOKEN = re.compile(r"addresses|LICENSE|singleword|assemblee|cues|europarl|cities|Foreign|benchmark")
"""Files of Common Voice that are no sentences of their own, or of Parliament."""
DICTIONARY = dict(zip(LANGUAGES, ("eng", "deu", "fra", "spa", "ita", "nld", "por"), strict=True))
SHORTEST, LONGEST = 12, 300
"""Characters of a sentence of one language."""


def tidy(text: str) -> str:
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip()


class Repository:
    def __init__(self, mirror: Path, name: str) -> None:
        self.name, self.folder = name, mirror / name.replace("/", "+") / "repo"

    def git(self, *arguments: str) -> str:
        command = ["git", "--git-dir", str(self.folder), *arguments]
        return subprocess.run(command, capture_output=True, check=False).stdout.decode("utf-8", "replace")

    def read(self, path: str) -> str:
        return self.git("show", f"HEAD:{path}")

    def list(self, folder: str) -> list[str]:
        return self.git("ls-tree", "-r", "--name-only", "HEAD", folder).split("\n")[:-1]


def make_row(texts: dict[str, str]) -> Row:
    return [tidy(texts.get(language, "")) for language in LANGUAGES]


def read_ntrex(mirror: Path) -> Iterator[Row]:
    repository = Repository(mirror, "MicrosoftTranslator/NTREX")
    files = {
        code: f"NTREX-128/newstest2019-{'src' if code == 'en' else 'ref'}.{name}.txt" for code, name in NTREX.items()
    }
    columns = {code: repository.read(file).split("\n")[:-1] for code, file in files.items()}
    for texts in zip(*columns.values(), strict=True):
        yield make_row(dict(zip(columns, texts, strict=True)))


def read_treebanks(mirror: Path) -> Iterator[Row]:
    """The same sentences stand under the same number."""
    found: dict[str, dict[str, str]] = {}
    for code, name in PUD.items():
        text = Repository(mirror, f"UniversalDependencies/UD_{name}-PUD").read(f"{code}_pud-ud-test.conllu")
        for number, sentence in re.findall(r"^# sent_id = (\S+)\n(?:# .*\n)*?# text = (.*)$", text, re.MULTILINE):
            found.setdefault(number, {})[code] = sentence
    yield from map(make_row, found.values())


def read_questions(mirror: Path) -> Iterator[Row]:
    repository = Repository(mirror, "google-deepmind/xquad")
    columns: dict[str, list[list[str]]] = {}
    for code in ("en", "de", "es"):
        if text := repository.read(f"xquad.{code}.json"):
            columns[code] = [
                sentences
                for article in json.loads(text)["data"]
                for paragraph in article["paragraphs"]
                for sentences in (
                    list(segment(code, paragraph["context"])),
                    *([q["question"]] for q in paragraph["qas"]),
                )
            ]
    for parts in zip(*columns.values(), strict=True):
        if len({len(part) for part in parts}) == 1:
            for texts in zip(*parts, strict=True):
                yield make_row(dict(zip(columns, texts, strict=True)))


def read_health(mirror: Path) -> Iterator[Row]:
    repository = Repository(mirror, "tico-19/tico-19.github.io")
    found: dict[str, dict[str, str]] = {}
    for code, name in TICO.items():
        if text := repository.read(f"data/TM/all.{name}.tmx"):
            for unit in etree.fromstring(text.encode(), etree.XMLParser(recover=True)).iter("tu"):
                english, other = ("".join(each.itertext()) for each in unit.iter("seg"))
                found.setdefault(english, {"en": english})[code] = other
    yield from map(make_row, found.values())


def read_spoken(mirror: Path, language: str) -> Iterator[str]:
    repository = Repository(mirror, "common-voice/common-voice")
    for name in repository.list(f"server/data/{language}"):
        if name.endswith(".txt") and not UNSPOKEN.search(name):
            for sentence in map(tidy, repository.read(name).split("\n")):
                fits = SHORTEST <= len(sentence) <= LONGEST and len(sentence.split()) >= 3
                if fits and "\ufffd" not in sentence and "|" not in sentence:
                    yield sentence


def read_words(folder: Path, source: str, target: str) -> Iterator[Row]:
    """The first translation of each headword."""
    path = folder / f"usr/share/dictd/freedict-{DICTIONARY[source]}-{DICTIONARY[target]}.dict.dz"
    if not path.exists():
        return
    word = None
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = file.read().split("\n")
    for line in lines:
        if match := re.match(r"([^/<]+?) /", line):
            word = match[1]
        elif word:
            first = re.split(r"[,;]", re.sub(r"^1\. |<[^>]*>|\([^)]*\)", "", line))[0]
            if (text := tidy(first)) and not re.search(r"[^\w\s'’-]|\d", text + word) and len(text.split()) <= 3:
                yield [tidy(word), text]
            word = None


def write_lines(path: Path, lines: Iterable[str]) -> None:
    with lzma.open(path, "wt", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirror", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--dictionaries", type=Path)
    said = parser.parse_args()
    said.output.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for read in (read_ntrex, read_treebanks, read_questions, read_health):
        found = [row for row in read(said.mirror) if sum(map(bool, row)) >= 2 and max(map(len, row)) <= 600]
        sys.stdout.write(f"{read.__name__}: {len(found):,} lines\n")
        rows += found
    write_rows(said.output / "many.tsv.xz", rows)
    for language in LANGUAGES:
        sentences = dict.fromkeys(read_spoken(said.mirror, language))
        sys.stdout.write(f"{language}: {len(sentences):,} sentences\n")
        write_lines(said.output / f"mono.{language}.xz", sentences)
    for source, target in permutations(LANGUAGES, 2):
        words = {tuple(row): None for row in read_words(said.dictionaries, source, target)} if said.dictionaries else {}
        if words:
            sys.stdout.write(f"{source}-{target}: {len(words):,} words\n")
            write_rows(said.output / f"words.{source}-{target}.tsv.xz", words)


if __name__ == "__main__":
    main()
