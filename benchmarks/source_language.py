"""How often the source language of a short sentence is found, with the models that come with hark.

    python -m benchmarks.source_language FOLDER

FOLDER has sentence pairs of Tatoeba, EN-XX.test.tsv.xz. For each language, sentences of up to 60 characters are drawn
and their language is found as `hark translate -t en` does (-t de for English): *found* counts the right languages,
*right model* those that go to the right model, *checked* those that the general model was asked about, and *detector
alone* what the detector would find among all languages, and get wrong.
"""

import argparse
import lzma
import random
from functools import cache
from pathlib import Path

from hark.cli.model_choice import find_source
from hark.decode import load, source_language
from hark.models import choose, list_models, shipped_folder
from hark.text.detector import guess_language

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")
SENTENCES, SEED = 200, 7


def read_side(folder: Path, language: str) -> list[str]:
    """The sentences of a language, from its pairs with English."""
    name, side = ("en-de", 0) if language == "en" else (f"en-{language}", 1)
    with lzma.open(folder / f"{name}.test.tsv.xz", "rt", encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t")[side] for line in file]


def measure(sentences: list[str], language: str) -> str:
    checked = 0
    check = source_language.check_other

    def counted(*given: object) -> str | None:
        nonlocal checked
        checked += 1
        return check(*given)  # type: ignore[arg-type]

    target = "de" if language == "en" else "en"
    models = choose(None, target, list_models([shipped_folder()]))
    sources = sorted({source for each in models for source, _ in each.pairs})
    right = choose(language, target, models)[0]
    source_language.check_other = counted
    try:
        found = [find_source(each, models, target) for each in sentences]
    finally:
        source_language.check_other = check
    routed = [choose(each, target, models)[0].folder for each in found]
    alone = [guess_language(each, sources) for each in sentences]
    counts = (
        found.count(language),
        routed.count(right.folder),
        checked,
        alone.count(language),
        sum(each not in (language, None) for each in alone),
    )
    return f"{language:<10}{len(sentences):>9}" + "".join(f"{count:>15}" for count in counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    load.Loaded = cache(load.Loaded)  # type: ignore[assignment,misc]
    heads = ("found", "right model", "checked", "detector alone", "and wrong")
    print(f"{'language':<10}{'sentences':>9}" + "".join(f"{head:>15}" for head in heads))
    for language in LANGUAGES:
        short = [each for each in read_side(folder, language) if len(each) <= source_language.SHORT]
        print(measure(random.Random(SEED).sample(short, min(SENTENCES, len(short))), language), flush=True)


if __name__ == "__main__":
    main()
