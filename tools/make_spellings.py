"""Make the word lists by which typing is tidied (src/hark/text/spelling): German umlauts, and doubled letters.

    python -m tools.make_spellings FOLDER...

Each FOLDER holds train.en.xz and train.de.xz, line-aligned: those that come with hark were made from Tatoeba
(CC BY 2.0 FR) and the European Parliament's proceedings. Only words are taken, with no more than how often each is
there. The same input gives the same words.

umlauts.txt.gz holds words with an umlaut or ß that may be typed as ae, oe, ue and ss. Left out are
- words that typed so are other words, or nearly (`Maße` and `Masse`);
- ß in spellings from before 1996, which is ss today (`muß`), as is seen by the vowel before it;
- names, which the English side has too (`Müller`): people write themselves with ue;
- words that technical text has from English (`Daemon`, `Body Mass Index`).
A word has a capital there if it may have one inside a sentence (nouns), and none if it is then probably a name.

doubled.LANGUAGE.txt.gz holds words with doubled letters, so that `cooool` becomes `cool` and `sooo` becomes `so`.
"""

import argparse
import gzip
import lzma
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from hark.text.spelling.german import transliterate

OUTPUT = Path(__file__).parent.parent / "src" / "hark" / "text" / "spelling"
COUNT, DOUBLED_COUNT = 5, 20
OTHER = 0.05
"""A word is left out if what is typed for it is a word of its own, so many times as frequent."""
NAME = 0.3
"""And if so large a share of its sentences have it in English too."""
NOUN = 0.05
"""Share of a word inside sentences with a capital, from which it may be a noun."""
SINGLE = 0.003
"""A doubled letter counts if its word is so many times as frequent as the one with a single letter (`bee` and `be`)."""

WORD = re.compile(r"[^\W\d_]+")
ENGLISH = re.compile("dämon|maß$")
"""Words that may be English without their umlauts."""
UMLAUT = re.compile("[äöüß]", re.IGNORECASE)
PAIR = re.compile(r"(.)\1")
# After a long vowel ß has stayed; diphthongs are long, of other vowels the stems must be known.
STAYED = re.compile(
    r"(?:ei|au|äu|eu|ie)ß|(?:str|m|sp|fr|verg|bes|ges|sas|^s|^)aß|(?:gr|bl|st|kl|s|schm)[oö]ß|flöß|(?:f|gr|b|s)[uü]ß|müßi|"
    r"(?:gef|m|ges|str|sp|bes|fr|^s|^)äß"
)


class Words:
    """How often the words of a corpus occur, by their lower-case forms."""

    def __init__(self) -> None:
        self.german, self.english = Counter[str](), Counter[str]()
        self.inside, self.capital, self.kept = Counter[str](), Counter[str](), Counter[str]()
        """Of German words: inside a sentence; those with a capital; those that the English side has too."""

    def read(self, pairs: Iterable[tuple[str, str]]) -> None:
        for english, german in pairs:
            theirs, ours = WORD.findall(english), WORD.findall(german)
            self.english.update(map(str.lower, theirs))
            self.german.update(map(str.lower, ours))
            inside = [word for word in ours[1:] if UMLAUT.search(word)]
            self.inside.update(map(str.lower, inside))
            self.capital.update(word.lower() for word in inside if word[0].isupper())
            self.kept.update(word.lower() for word in set(ours) & set(theirs))

    def umlauts(self) -> Iterator[str]:
        for word, count in self.german.items():
            if (
                count >= COUNT
                and UMLAUT.search(word)
                and self.german[transliterate(word)] <= max(2, OTHER * count)
                and ("ß" not in word or STAYED.search(word))
                and self.kept[word] <= NAME * count
                and not ENGLISH.match(word)
            ):
                yield word.capitalize() if self.capital[word] > NOUN * self.inside[word] else word


def doubled(words: Counter[str]) -> Iterator[str]:
    """Words whose doubled letters are no slip."""
    for word, count in words.items():
        singles = [word[: pair.start()] + word[pair.start() + 1 :] for pair in PAIR.finditer(word)]
        if count >= DOUBLED_COUNT and singles and count >= SINGLE * max(words[single] for single in singles):
            yield word


def read_pairs(folder: Path) -> Iterator[tuple[str, str]]:
    paths = (folder / "train.en.xz", folder / "train.de.xz")
    with ExitStack() as opened:
        sides = (opened.enter_context(lzma.open(path, "rt", encoding="utf-8", newline="\n")) for path in paths)
        yield from zip(*sides, strict=True)


def write_words(name: str, words: Iterable[str]) -> None:
    text = "\n".join(sorted(words, key=lambda word: (word.lower(), word)))
    (OUTPUT / name).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    words = Words()
    for folder in parser.parse_args().folders:
        words.read(read_pairs(folder))
    write_words("umlauts.txt.gz", words.umlauts())
    write_words("doubled.en.txt.gz", doubled(words.english))
    write_words("doubled.de.txt.gz", doubled(words.german))


if __name__ == "__main__":
    main()
