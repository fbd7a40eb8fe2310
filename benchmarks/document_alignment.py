"""Precision and recall of sentence alignment: `python -m benchmarks.document_alignment --data FOLDER`.

Known pairs of consecutive sentences become two documents whose alignment is known: some sentences are joined or split
on one side, some are left out, some are inserted. Three aligners are compared: length alone (Gale and Church), length
and words that are the same in both languages, and length and the words of the model's own translations.
"""

import argparse
import lzma
import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import hark
from hark.documents.alignment import Aligner, Bead, TextSentence

DOCUMENT = 100
"""Pairs of a document."""
_BREAK = re.compile(r"(?<=[,;:]) (?=\S)")
Gold = list[tuple[range, range]]


@dataclass(frozen=True)
class Noise:
    """How documents differ: shares of pairs that are changed on one side."""

    name: str
    joined: float
    split: float
    dropped: float
    inserted: float
    paragraphs: bool


CONDITIONS = (
    Noise("clean", 0.04, 0.04, 0.01, 0.0, True),
    Noise("edited", 0.1, 0.1, 0.04, 0.02, True),
    Noise("edited, paragraphs unknown", 0.1, 0.1, 0.04, 0.02, False),
    Noise("much missing", 0.1, 0.1, 0.15, 0.1, True),
)


def make_document(
    pairs: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]], noise: Noise, chance: random.Random
) -> tuple[list[TextSentence], list[TextSentence], Gold]:
    """Make two versions of a document, and the pairs in them, as ranges of sentences of both."""
    texts: tuple[list[str], list[str]] = [], []
    ends: tuple[set[int], set[int]] = set(), set()
    gold: Gold = []

    def add(units: tuple[list[str], list[str]]) -> None:
        spans = [range(len(texts[side]), len(texts[side]) + len(units[side])) for side in (0, 1)]
        for side in (0, 1):
            texts[side].extend(units[side])
        if all(spans):
            gold.append((spans[0], spans[1]))

    place = 0
    until = chance.randint(2, 6)
    while place < len(pairs):
        units: tuple[list[str], list[str]] = [pairs[place][0]], [pairs[place][1]]
        side = chance.randrange(2)
        what = chance.random()
        place += 1
        if what < noise.joined and place < len(pairs) and until > 1:
            units = [pairs[place - 1][0], pairs[place][0]], [pairs[place - 1][1], pairs[place][1]]
            units[side][:] = [" ".join(units[side])]
            place += 1
            until -= 1
        elif what < noise.joined + noise.split:
            units[side][:] = split_once(units[side][0], chance)
        elif what < noise.joined + noise.split + noise.dropped:
            units[side].clear()
        elif what < noise.joined + noise.split + noise.dropped + noise.inserted:
            extra: tuple[list[str], list[str]] = [], []
            extra[side].append(chance.choice(others)[side])
            add(extra)
        add(units)
        until -= 1
        if until <= 0 and noise.paragraphs:
            for side in (0, 1):
                ends[side].add(len(texts[side]) - 1)
            until = chance.randint(2, 6)
    made = [[TextSentence(text, at in ends[side]) for at, text in enumerate(texts[side])] for side in (0, 1)]
    return made[0], made[1], gold


def split_once(text: str, chance: random.Random) -> list[str]:
    """Cut a sentence after a comma or the like, if it has one."""
    breaks = [match.start() for match in _BREAK.finditer(text)]
    if not breaks:
        return [text]
    cut = chance.choice(breaks)
    return [text[:cut], text[cut + 1 :]]


def count(gold: Gold, found: Sequence[Bead]) -> tuple[int, int, int]:
    """Pairs that are right, found and known. A pair is right if it has exactly the sentences of a known one."""
    known = {(tuple(one), tuple(other)) for one, other in gold}
    beads = {(tuple(each.source), tuple(each.target)) for each in found if each.source and each.target}
    return len(known & beads), len(beads), len(known)


def read(path: Path) -> list[str]:
    return lzma.open(path, "rt", encoding="utf-8").read().split("\n")[:-1]


def documents(
    pairs: Sequence[tuple[str, str]], noise: Noise, seed: int
) -> Iterator[tuple[list[TextSentence], list[TextSentence], Gold]]:
    chance = random.Random(seed)
    for start in range(0, len(pairs) - DOCUMENT + 1, DOCUMENT):
        yield make_document(pairs[start : start + DOCUMENT], pairs, noise, chance)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with news/ and europarl-en-de/")
    parser.add_argument("--sets", nargs="+", default=["news/newstest2014", "europarl-en-de/test"])
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--model", default="en-de")
    arguments = parser.parse_args()
    model = hark.load(arguments.model)
    for name in arguments.sets:
        files = [read(arguments.data / f"{name}.{code}.xz")[: arguments.pairs] for code in ("en", "de")]
        pairs = list(zip(*files, strict=True))
        print(f"{name}: {len(pairs):,} pairs, documents of {DOCUMENT}")
        for noise in CONDITIONS:
            made = list(documents(pairs, noise, seed=1))
            texts = sorted({each.text for source, _, _ in made for each in source})
            start = time.perf_counter()
            translated = {each.source: each.text for each in model.translate(texts, beam=1, check=False)}
            seconds = time.perf_counter() - start
            for aligner in ("length", "same words", "translations"):
                right = found = known = kept = kept_right = 0
                start = time.perf_counter()
                for source, target, gold in made:
                    translations = [translated[each.text] for each in source] if aligner == "translations" else None
                    beads = Aligner(source, target, translations, lexical=aligner != "length").align()
                    counts = count(gold, beads)
                    right, found, known = right + counts[0], found + counts[1], known + counts[2]
                    counts = count(gold, [each for each in beads if not each.low])
                    kept_right, kept = kept_right + counts[0], kept + counts[1]
                spent = time.perf_counter() - start
                print(
                    f"  {noise.name:27} {aligner:13} precision {right / found:.3f}  recall {right / known:.3f}"
                    f"  without low: precision {kept_right / max(1, kept):.3f}  recall {kept_right / known:.3f}"
                    f"  low: {found - kept}, precision {(right - kept_right) / max(1, found - kept):.2f}"
                    f"  {spent:.1f} s" + (f" + {seconds:.0f} s to translate" if aligner == "translations" else "")
                )


if __name__ == "__main__":
    main()
