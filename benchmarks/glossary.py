"""How often the terms of a glossary appear in translations, and what they cost: `python -m benchmarks.glossary`.

Sentences of the bundled test sample that have a term are translated by the shipped models with and without a glossary.
"""

import argparse
import lzma
import re
import time
from pathlib import Path

import hark
import hark.data.sample
from hark.text.terms import Terms
from hark.translate.load import Loaded
from hark.translate.piece import Options

GLOSSARIES = {
    ("en", "de"): {
        "house": "Gebäude", "car": "Automobil", "money": "Barschaft", "book": "Druckwerk", "dog": "Vierbeiner",
        "school": "Lehranstalt", "doctor": "Mediziner", "train": "Eisenbahn", "friend": "Gefährte", "work": "Tagwerk",
        "time": "Zeitspanne", "room": "Gemach", "water": "Nass", "letter": "Schreiben", "train station": "Haltepunkt",
        "mother": "Mutti", "question": "Anfrage", "idea": "Geistesblitz", "problem": "Malheur", "job": "Stelle",
    },
    ("de", "en"): {
        "Haus": "building", "Auto": "vehicle", "Geld": "cash", "Buch": "volume", "Hund": "hound", "Schule": "academy",
        "Arzt": "physician", "Zug": "railway", "Freund": "buddy", "Arbeit": "labour", "Zeit": "time span",
        "Zimmer": "chamber", "Wasser": "H2O", "Brief": "missive", "Bahnhof": "stop", "Mutter": "mum",
        "Frage": "query", "Idee": "notion", "Problem": "snag", "Leben": "existence",
    },
}  # fmt: skip
"""Terms that the models do not choose by themselves."""


def measure(model: Loaded, sentences: list[str], glossary: dict[str, str]) -> dict[str, float]:
    """Translate the sentences that have a term."""
    terms = Terms(glossary.items())
    chosen = [sentence for sentence in sentences if next(terms.find(sentence), None)]
    translator = model.translator
    start = time.perf_counter()
    plain = list(translator.stream(chosen))
    middle = time.perf_counter()
    with_terms = list(translator.stream(chosen, Options(terms=terms)))
    end = time.perf_counter()
    wanted = exact = retried = 0
    for source, done in zip(chosen, with_terms, strict=True):
        targets = [target for _, target in terms.find(source)]
        wanted += len(targets)
        for target in set(targets):
            here = len(re.findall(rf"(?<!\w){re.escape(target)}(?!\w)", done.text, re.IGNORECASE))
            exact += min(targets.count(target), here)
        retried += "retried" in done.flags
    return {
        "sentences": len(chosen),
        "terms": wanted,
        "found": exact / wanted,
        "retried": retried / len(chosen),
        "retried without": sum("retried" in each.flags for each in plain) / len(chosen),
        "times as long": (end - middle) / (middle - start),
    }


def read(name: str) -> list[str]:
    folder = Path(hark.data.sample.__file__).parent
    return lzma.open(folder / f"{name}.xz", "rt", encoding="utf-8").read().splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=["dev", "test"])
    parser.add_argument("--threads", type=int, default=None)
    arguments = parser.parse_args()
    for (source, target), glossary in GLOSSARIES.items():
        sentences = [line for name in arguments.sets for line in read(f"{name}.{source}")]
        found = measure(hark.load(f"{source}-{target}", threads=arguments.threads), sentences, glossary)
        print(f"{source}-{target}", *(f"{name} {value:.3g}" for name, value in found.items()), sep="; ")


if __name__ == "__main__":
    main()
