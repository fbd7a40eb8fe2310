"""Count how often models translate the terms of the house style as terms.tsv says.

python examples/house-style/count_terms.py examples/house-style/test.tsv en-de runs/demo
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

TERMS = Path(__file__).parent / "terms.tsv"


def read_columns(file: Path) -> list[tuple[str, str]]:
    """The two columns of a tab-separated file, line by line."""
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    return [(source, target) for source, target in rows]


def read_terms(file: Path = TERMS) -> dict[str, tuple[str, ...]]:
    """Each English term with its German stems; more than one where the plural has an umlaut."""
    return {english: tuple(german.split(", ")) for english, german in read_columns(file)}


def find_terms(sentence: str, terms: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """The terms in an English sentence, also in the plural or with a capital at its start."""
    for term in terms:
        if re.search(rf"(?<!\w){re.escape(term)}(s|es)?(?!\w)", sentence, re.IGNORECASE):
            yield term


def count_terms(
    sources: Sequence[str], translations: Sequence[str], terms: dict[str, tuple[str, ...]]
) -> tuple[int, int]:
    """How many terms the translations have as they should, and how many there are in the sources."""
    right = total = 0
    for source, translation in zip(sources, translations, strict=True):
        for term in find_terms(source, terms):
            total += 1
            right += any(stem in translation for stem in terms[term])
    return right, total


def main(file: str, *models: str) -> None:
    import hark

    sources, terms = [source for source, _ in read_columns(Path(file))], read_terms()
    width = max(map(len, ("system", *models)))
    print(f"{'system':{width}}  terms right")
    for name in models:
        translations = [each.text for each in hark.load(name).translate(sources)]
        right, total = count_terms(sources, translations, terms)
        print(f"{name:{width}}  {right:>3} of {total}")


if __name__ == "__main__":
    main(*sys.argv[1:])
