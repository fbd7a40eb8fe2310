"""Make the text of all pairs of seven languages, and the recipe, from what tools/voice_text.py gathered.

    python -m tools.voice_pairs FOLDER START -o TEXT

START is the bundle to train from. TEXT gets a table for each corpus and pair of languages, and `voice.toml`. It runs on
the training machine, to which the text of all pairs would be too much to send.

Beside the corpora as they are, there are: lines of two languages that share their English (`joined`); two to five
written sentences that follow one another, as one line (`written-texts`); and lines whose translation addresses somebody
formally or informally, with `<formal>` or `<informal>` before the source (`address`): symbols that tools/grow_model.py
adds. A few lines that address nobody have them too (`neutral`), since a translator cannot know. What a model made of
mono.de-en.xz, the lines of `hark translate --json` in back.de-en.jsonl, has `<bt>` before it as a source (`back`).
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from multiprocessing import Pool
from pathlib import Path
from string import Template

from hark.facts import LanguagePair
from hark.text.address import Address, addresses, form_of, has_address
from hark.text.numerals import LANGUAGES
from tools.tables import Pair, read_table

WEIGHTS = {
    "news": 5, "talk": 4, "letters": 4, "encyclopedia": 4, "events": 3, "shops": 1, "household": 1, "goods": 1,
    "stories": 2, "apps": 2, "medical": 3, "prose": 2, "examples": 2, "books": 2, "games": 1, "manuals": 1,
    "docs": 1, "descriptions": 1, "strings": 2, "catalogues": 0.6, "names": 1, "dictionary": 0.5,
}  # fmt: skip
"""Of the text of English and another language. A corpus of weight 2 is seen twice as often."""
TATOEBA = {"en-de": 2, "en-fr": 2, "en-it": 4, "en-pt": 1.5, "de-fr": 1, "de-es": 1, "fr-it": 1.5, "es-pt": 1.5}
TATOEBA_ELSE, TAUGHT, JOINED, MANY, WORDS, BACK = 3, 3, 0.7, 4, 0.5, 1
WRITTEN, FRESH = (4, 2), (8, 4)
"""Of the text that was written for Hark: with English, which most people translate from or into, and without."""
JOINABLE = ("news", "talk", "letters", "encyclopedia", "events", "shops", "household", "stories", "apps",
            "prose", "manuals", "docs", "descriptions", "strings", "catalogues")  # fmt: skip
ADDRESSED = ("talk", "letters", "events", "news", "prose", "books", "apps")
NEUTRAL = 0.1
"""How many of the lines that address nobody have a symbol nevertheless."""
PARLIAMENT, PARLIAMENT_ELSE, PARLIAMENT_ADDRESSED, MOST_JOINED = 200_000, 80_000, 60_000, 120_000
"""Lines of Parliament of a pair with English and of another, and to look for addresses in; pairs that share English."""
TEMPLATE = Template(Path(__file__).with_name("voice.toml").read_text(encoding="utf-8"))


def find_address(source: str, target: str, languages: LanguagePair) -> Address | None:
    """How the target addresses its reader; None if not at all, in both ways, or if the English source does not."""
    if languages[1] == "en" or (languages[0] == "en" and not addresses(source, "en")):
        return None
    return form_of(target, languages[1])


def read_back(file: Path) -> Iterator[Pair]:
    """Translations and what they were made of. Empty, equal and faulty ones are dropped. Unsure ones stay: what the
    model learns to write is a person's text, and what it finds hard teaches most."""
    for row in map(json.loads, file.read_text(encoding="utf-8").splitlines() if file.exists() else ()):
        if row["text"] not in ("", row["source"]) and not set(row["flags"]) - {"unsure"}:
            yield f"<bt> {row['text']}", row["source"]


def join_lines(pairs: Sequence[Pair | None], draw: random.Random, most: int, characters: int) -> list[Pair]:
    """Return two to five pairs that follow one another, as one; None divides texts."""
    joined: list[Pair] = []
    start, end = 0, 0
    while start < len(pairs):
        end = min(start + draw.randint(2, 5), len(pairs))
        part = [each for each in pairs[start:end] if each]
        if len(part) == end - start > 1:
            source, target = (" ".join(side) for side in zip(*part, strict=True))
            if max(len(source), len(target)) <= characters:
                joined.append((source, target))
        start = end
    draw.shuffle(joined)
    return joined[:most]


@dataclass
class PairText:
    """Writes the corpora of a pair of languages, and their lines of the recipe."""

    folder: Path
    output: Path
    pair: LanguagePair
    recipe: list[str] = field(default_factory=list)

    def add(self, name: str, pairs: Sequence[Pair], weight: float, languages: LanguagePair | None = None) -> None:
        """Write a corpus, in both directions unless `languages` gives one."""
        source, target = languages or self.pair
        pairs = [pair for pair in pairs if pair[0].strip() and pair[1].strip() and "\t" not in pair[0] + pair[1]]
        if not pairs:
            return
        path = self.output / f"{name}.{source}-{target}.tsv"
        path.write_text("".join(f"{one}\t{other}\n" for one, other in pairs), encoding="utf-8", newline="\n")
        settings = f'name = "{name}", languages = ["{source}", "{target}"], source = "{path}", weight = {weight}'
        self.recipe.append(f"  {{ {settings}{', both = false' if languages else ''} }},")

    def read(self, name: str, languages: Sequence[str] = ()) -> list[Pair]:
        """The pairs of a corpus, in these languages; none if there is no such file."""
        path = self.folder / f"{name}.{'-'.join(languages or self.pair)}.tsv.xz"
        return [(row[0], row[1]) for row in read_table(path)] if path.exists() else []

    def read_both(self, name: str) -> list[Pair]:
        """The pairs of a corpus of both directions, each once."""
        back = ((target, source) for source, target in self.read(name, self.pair[::-1]))
        return list(dict.fromkeys([*self.read(name), *back]))

    def seven_way(self, name: str) -> list[Pair | None]:
        """The pairs of a corpus in all languages; None where it has an empty line."""
        one, other = map(LANGUAGES.index, self.pair)
        rows = read_table(self.folder / f"{name}.tsv.xz")
        return [(row[one], row[other]) if len(row) == len(LANGUAGES) else None for row in rows]

    def write(self) -> list[str]:
        draw = random.Random("-".join(self.pair))
        with_english = self.pair[0] == "en"
        single, written, fresh, many = (
            [pair for pair in self.seven_way(name) if pair]
            for name in ("parliament", "written", "written-fresh", "many")
        )
        drawn = draw.sample(single, min(len(single), PARLIAMENT if with_english else PARLIAMENT_ELSE))
        self.add("europarl", drawn, 1.5 if with_english and self.pair[1] in ("it", "nl", "pt") else 1)
        texts = self.seven_way("written-texts")
        self.add("written", written, WRITTEN[not with_english])
        self.add("written-fresh", fresh, FRESH[not with_english])
        joined = [pair for _ in range(2) for pair in join_lines(texts, draw, 10_000, 600)]
        self.add("written-texts", list(dict.fromkeys(joined)), 1)
        self.add("many", many, MANY)
        self.add("words", self.read_both("words"), WORDS)
        self.add("taught", self.read_both("taught"), 1)
        everyday = self.read("tatoeba")
        self.add("tatoeba", everyday, TATOEBA.get("-".join(self.pair), TATOEBA_ELSE))
        for name, weight in WEIGHTS.items():
            self.add(name, self.read(name), weight)
        if not with_english:
            self.add_joined(draw)
        for languages in (self.pair, self.pair[::-1]):
            self.add("news-taught", self.read("news-taught", languages), TAUGHT, languages)
            back = read_back(self.folder / f"back.{'-'.join(languages[::-1])}.jsonl")
            self.add("back", list(back), BACK, languages)
        pairs = [*everyday, *(pair for name in ADDRESSED for pair in self.read(name))]
        pairs += draw.sample(single, min(len(single), PARLIAMENT_ADDRESSED))
        self.add_address(pairs, written + fresh, draw)
        return self.recipe

    def add_joined(self, draw: random.Random) -> None:
        found: dict[Pair, None] = {}
        for name in JOINABLE:
            one = dict(self.read(name, ("en", self.pair[0])))
            for english, text in self.read(name, ("en", self.pair[1])):
                if english in one:
                    found[one[english], text] = None
        self.add("joined", draw.sample(list(found), min(len(found), MOST_JOINED)), JOINED)

    def add_address(self, pairs: Sequence[Pair], written: Sequence[Pair], draw: random.Random) -> None:
        """Write the pairs that address somebody, the symbol before the source: in one direction, since the symbol says
        what the target is like."""
        for languages, order in ((self.pair, 1), (self.pair[::-1], -1)):
            if languages[1] == "en":
                continue
            by_hand = WRITTEN["en" not in languages]
            for name, corpus, weight in (("address", pairs, 1), ("written-address", written, by_hand)):
                found: dict[str, list[Pair]] = {"formal": [], "informal": []}
                neutral: list[Pair] = []
                for source, target in (pair[::order] for pair in corpus):
                    if (address := find_address(source, target, languages)) is not None:
                        found[address].append((f"<{address}> {source}", target))
                    elif name == "address" and draw.random() < NEUTRAL and not has_address(target, languages[1]):
                        neutral.append((f"<{draw.choice(('formal', 'informal'))}> {source}", target))
                most = 40_000 if languages[0] == "en" else 10_000
                for each in found.values():
                    draw.shuffle(each)
                draw.shuffle(neutral)
                self.add(name, [pair for each in found.values() for pair in each[:most]], weight, languages)
                self.add("neutral", neutral[: most // 2], 1, languages)


def list_sets(folder: Path, dev: bool) -> Iterator[str]:
    for path in sorted((folder / "sets").glob("*.tsv")):
        name, source, target = re.split(r"\.|-(?=..$)", path.stem)
        if dev == (name.endswith("-dev") and name != "flores-dev"):
            yield f'  {{ name = "{name}", languages = ["{source}", "{target}"], source = "{path}" }},'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("start", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    said = parser.parse_args()
    said.output.mkdir(parents=True, exist_ok=True)
    texts = [PairText(said.folder.resolve(), said.output.resolve(), pair) for pair in combinations(LANGUAGES, 2)]
    with Pool() as pool:
        recipes = pool.map(PairText.write, texts, chunksize=1)
    recipe = TEMPLATE.substitute(
        start=said.start.resolve(),
        train="\n".join(chain.from_iterable(recipes)),
        dev="\n".join(list_sets(said.folder.resolve(), dev=True)),
        test="\n".join(list_sets(said.folder.resolve(), dev=False)),
    )
    (said.output / "voice.toml").write_text(recipe, encoding="utf-8")
    sys.stdout.write(f"{sum(map(len, recipes))} corpora\n")


if __name__ == "__main__":
    main()
