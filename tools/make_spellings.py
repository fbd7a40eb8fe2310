"""Make the word lists for correcting typing (src/hark/text/spelling): German umlauts, and doubled letters.

    python -m tools.make_spellings FOLDER...

Each FOLDER holds train.en.xz and train.de.xz, line-aligned: the lists that come with hark were made from Tatoeba
(CC BY 2.0 FR) and the European Parliament's proceedings. Only words and their counts are used. The same input gives the
same words.

umlauts.txt.gz holds words with an umlaut or ß that may be typed as ae, oe, ue and ss, except
- words that are other words when typed so (`Maße` and `Masse`);
- ß in spellings from before 1996, which is ss today (`muß`), recognised by the vowel before it;
- names, which the English side has too (`Müller`): some people spell theirs with ue;
- English words in technical text (`Daemon`, `Body Mass Index`).
A word is capitalised if it can be inside a sentence (nouns), and lower case if it would then probably be a name.

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
"""A word is left out if its transliteration is a word with at least this relative frequency."""
NAME = 0.3
"""A word is left out if at least this share of its sentences have it in English too."""
NOUN = 0.05
"""The minimum share of capitalised occurrences inside sentences for a noun."""
SINGLE = 0.003
"""The minimum frequency of a word with a doubled letter, relative to the one with a single letter (`bee` and `be`)."""

WORD = re.compile(r"[^\W\d_]+")
ENGLISH = re.compile("dämon|maß$")
"""Words that can be English without their umlauts."""
UMLAUT = re.compile("[äöüß]", re.IGNORECASE)
PAIR = re.compile(r"(.)\1")
# ß is kept after a long vowel; diphthongs are long, and for other vowels the stems are listed.
STAYED = re.compile(
    r"(?:ei|au|äu|eu|ie)ß|(?:str|m|sp|fr|verg|bes|ges|sas|^s|^)aß|(?:gr|bl|st|kl|s|schm)[oö]ß|flöß|(?:f|gr|b|s)[uü]ß|müßi|"
    r"(?:gef|m|ges|str|sp|bes|fr|^s|^)äß"
)


class Words:
    """Counts of the words of a corpus, in lower case."""

    def __init__(self) -> None:
        self.german, self.english = Counter[str](), Counter[str]()
        self.inside, self.capital, self.kept = Counter[str](), Counter[str](), Counter[str]()
        """German words: inside a sentence; of these, capitalised; and also on the English side."""

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
    """Words whose doubled letters are correct."""
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
