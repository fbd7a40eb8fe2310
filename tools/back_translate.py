"""Translate sentences of one language into others, as sources of training text (back-translation).

    python -m tools.back_translate MODEL FOLDER LANGUAGE [--into OTHER ...]

FOLDER has mono.LANGUAGE.tsv.xz (tools/voice_text.py) and gets back.OTHER-LANGUAGE.tsv.xz: a translation, then the
sentence. 60,000 sentences are translated into English, a share of them into other languages. Translations that are
empty, equal to the sentence, or faulty are dropped. Unsure ones stay: the sentence, which the model learns to write, is
a person's, and those that the model finds hard teach most. Python is slower than a GPU here: start several processes.
"""

import argparse
import random
import sys
from pathlib import Path

from hark.translate.load import Loaded
from tools.corpus_files import read_table
from tools.voice_text import LANGUAGES, write_rows

MOST = 60_000
FROM_ENGLISH, OTHERS = 0.6, 0.05
"""Shares of the sentences: of English ones into each language, and of others into each language but English."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("language", choices=LANGUAGES)
    parser.add_argument("--into", nargs="+", choices=LANGUAGES, default=LANGUAGES)
    said = parser.parse_args()
    model, language = Loaded(said.model), said.language
    sentences = [row[0] for row in read_table(said.folder / f"mono.{language}.tsv.xz")]
    sentences = random.Random(language).sample(sentences, min(MOST, len(sentences)))
    for other in said.into:
        if other == language:
            continue
        draw = random.Random(f"{language} {other}")
        share = FROM_ENGLISH if language == "en" else 1 if other == "en" else OTHERS
        drawn = draw.sample(sentences, round(share * len(sentences)))
        answers = model.translate(
            drawn, source=language, target=other, split=False, protect=False, tidy=False, detect=False, check=False,
            beam=1,
        )  # fmt: skip
        rows = []
        for sentence, answer in zip(drawn, answers, strict=True):
            text = " ".join(answer.text.split())
            if text and text != sentence and not set(answer.doubtful) - {"unsure"}:
                rows.append((text, sentence))
        write_rows(said.folder / f"back.{other}-{language}.tsv.xz", rows)
        sys.stdout.write(f"{language} into {other}: {len(rows):,} of {len(drawn):,}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
