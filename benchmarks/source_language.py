"""How often the language of a short text is found, with the model that comes with hark.

    python -m benchmarks.source_language FOLDER

FOLDER has sentence pairs of Tatoeba, EN-XX.test.tsv.xz, of which sentences of up to 60 characters are drawn, and words
that are frequent in one language and rare in the others; and `source_language.toml` has everyday lines in languages
that models know and in others. Their language is found as `hark translate` does for a single text, with each target.
*Found* counts the right languages, *model* those that go to the right model, *asked* those for which models were asked,
and *foreign* those taken for a language that no model knows. Texts in the target language, and in languages that no
model knows, are right if they are not translated: *kept* counts these.
"""

import argparse
import lzma
import random
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from hark.models import choose as choose_model
from hark.models import list_models, shipped_folder
from hark.translate.choice import Choice, LoadedModels, choose
from hark.translate.source_language import SHORT, Answer, Question, resolve

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")
TARGETS = ("en", "de", "fr")
SENTENCES, SEED = 200, 7
WORDS, COMMONEST, FREQUENT, TIMES = 45, 150, 3000, 10
"""Words drawn of each language: from the 151st to the 3000th, ten times as frequent as in any other language."""
LINES = Path(__file__).with_suffix(".toml")
HEADS = ("lines", "found", "model", "kept", "foreign", "asked")


def read_side(folder: Path, language: str) -> list[str]:
    """The sentences of a language, from its pairs with English."""
    name, side = ("en-de", 0) if language == "en" else (f"en-{language}", 1)
    with lzma.open(folder / f"{name}.test.tsv.xz", "rt", encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t")[side] for line in file]


def draw_words(sentences: dict[str, list[str]]) -> dict[str, list[str]]:
    """Words that tell their language to whoever knows it."""
    counts = {code: Counter(re.findall(r"[^\W\d_]{3,}", " ".join(lines))) for code, lines in sentences.items()}
    shares = {code: {word: count / each.total() for word, count in each.items()} for code, each in counts.items()}
    drawn = {}
    for code, each in counts.items():
        words = [
            word
            for word, _ in each.most_common(FREQUENT)[COMMONEST:]
            if (word.islower() or code == "de")
            and all(TIMES * shares[other].get(word, 0.0) < shares[code][word] for other in LANGUAGES if other != code)
        ]
        drawn[code] = random.Random(SEED).sample(words, min(WORDS, len(words)))
    return drawn


class Measure:
    """Finds languages, and counts the texts for which models are asked."""

    def __init__(self) -> None:
        self.models = list_models([shipped_folder()])
        self.loaded = LoadedModels()
        self.asked = False

    def answer(self, question: Question) -> Answer:
        self.asked = True
        return self.loaded(question)

    def choose(self, text: str, target: str) -> Choice:
        self.asked = False
        return resolve(choose(text, None, target, self.models), self.answer)

    def row(self, texts: Iterable[str], language: str, target: str) -> str:
        known = language in LANGUAGES
        right = choose_model(language, target, self.models)[0].folder if known and language != target else None
        counts = dict.fromkeys(HEADS, 0)
        for text in texts:
            found = self.choose(text, target)
            counts["lines"] += 1
            counts["found"] += (found.written_in or found.source) == language
            counts["model"] += found.written_in is None and found.model.folder == right
            counts["kept"] += found.written_in is not None
            counts["foreign"] += found.written_in is not None and found.written_in not in LANGUAGES
            counts["asked"] += self.asked
        shown = [f"{count:>9}" if right or name != "model" else f"{'':>9}" for name, count in counts.items()]
        return f"{language:<10}{target:<8}" + "".join(shown)

    def rows(self, texts: dict[str, list[str]]) -> Iterator[str]:
        for language, lines in texts.items():
            for target in TARGETS if lines else ():
                yield self.row(lines, language, target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    text = {language: read_side(folder, language) for language in LANGUAGES}
    sentences = {}
    for language, lines in text.items():
        short = [each for each in lines if len(each) <= SHORT]
        sentences[language] = random.Random(SEED).sample(short, min(SENTENCES, len(short)))
    everyday = tomllib.loads(LINES.read_text(encoding="utf-8"))
    measure = Measure()
    sets = {"Tatoeba": sentences, "words": draw_words(text), **everyday}
    for name, texts in sets.items():
        print(f"{name:<10}{'into':<8}" + "".join(f"{head:>9}" for head in HEADS))
        for row in measure.rows(texts):
            print(row, flush=True)


if __name__ == "__main__":
    main()
