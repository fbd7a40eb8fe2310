"""Measures zero-shot translation: train one model on all pairs of seven languages, another without Italian-Dutch.

    python -m tools.zero_shot DATA FOLDER [--steps 5000]

DATA has europarl-seven, the same text in seven languages. Both models have the settings of the recipe `speedrun`. The
second one reads Italian and Dutch with every other language, but never one with the other. Both translate between the
two, directly and through English, and between Spanish and Dutch, which both have learned. FOLDER gets datasets, runs,
the translations, and zero-shot.json. Killed and started again, the command resumes.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from hark import configfile
from hark.atomic import replace_file
from hark.config import Config, CorpusConfig
from hark.data.compression import ByteStream
from hark.data.corpus import read_lines
from hark.data.prepare import prepare
from hark.data.progress import show_progress
from hark.errors import HarkError, UserError
from hark.facts import LanguagePair
from hark.recipes import find_recipe
from hark.reproduce.trial import Trial, score_texts, train_trial
from hark.translate.load import Loaded

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")
LEFT_OUT = ("it", "nl")
SCORED: tuple[LanguagePair, ...] = (LEFT_OUT, LEFT_OUT[::-1], ("es", "nl"), ("nl", "es"))
PIVOT = "en"
VOCAB_SIZE = 28_000

Translate = Callable[[list[str], str, str], list[str]]


def model_config(text: Path, steps: int, left_out: tuple[str, str] | None) -> Config:
    """The recipe, for all pairs of languages but the one that is left out."""
    config = configfile.load(find_recipe("speedrun"))
    pairs = [pair for pair in combinations(LANGUAGES, 2) if pair != left_out]

    def corpora(role: str, some: list[tuple[str, str]]) -> tuple[CorpusConfig, ...]:
        return tuple(
            CorpusConfig(str(text / f"{role}.{a}.xz"), str(text / f"{role}.{b}.xz"), "europarl", languages=(a, b))
            for a, b in some
        )

    clean = replace(config.data.clean, language=1.0)  # a bare GPU machine lacks the package that detects languages
    data = replace(
        config.data,
        source="",
        target="",
        many=True,
        vocab_size=VOCAB_SIZE,
        clean=clean,
        train=corpora("train", pairs),
        dev=corpora("dev", pairs[:1]),
    )
    warmup = min(config.train.warmup_steps, max(1, steps // 4))
    return replace(config, data=data, train=replace(config.train, steps=steps, warmup_steps=warmup))


def read_text(path: Path) -> list[str]:
    with ByteStream(path) as stream:
        return list(read_lines(stream))


def score_directions(translate: Translate, text: dict[str, list[str]]) -> tuple[dict[str, float], dict[str, list[str]]]:
    """BLEU and translations of each direction, directly and through English."""
    outputs = {}
    for source, target in SCORED:
        outputs[f"{source}-{target}"] = translate(text[source], source, target)
        outputs[f"{source}-{PIVOT}-{target}"] = translate(translate(text[source], source, PIVOT), PIVOT, target)
    scores = {}
    for name, lines in outputs.items():
        target = name.rsplit("-", 1)[1]
        scores[name] = round(score_texts(name, lines, text[target], target).bleu, 2)
    return scores, outputs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--lines", type=int, help="test lines, by default all")
    parser.add_argument("--device", default="auto")
    asked = parser.parse_args()
    text, results = asked.data / "europarl-seven", {}
    try:
        test = {language: read_text(text / f"test.{language}.xz")[: asked.lines] for language in LANGUAGES}
        for name, left_out in (("all", None), ("without", LEFT_OUT)):
            config, folder = model_config(text, asked.steps, left_out), asked.folder / name
            with show_progress() as progress:
                dataset = prepare(config, folder / "dataset", progress=progress).dataset
                trial = Trial.of(config, dataset, asked.device)
                run = train_trial(trial, folder / "run", lambda share: progress(f"training: {name}", 0, share))  # noqa: B023
            model = Loaded(run.best, "torch", asked.device)

            def translate(lines: list[str], source: str, target: str, model: Loaded = model) -> list[str]:
                found = model.translate(lines, source=source, target=target, split=False, protect=False, check=False)
                return [each.text for each in found]

            results[name], outputs = score_directions(translate, test)
            model.close()
            for direction, lines in outputs.items():
                replace_file(folder / f"{direction}.txt", "".join(f"{line}\n" for line in lines).encode())
            replace_file(asked.folder / "zero-shot.json", (json.dumps(results, indent=1) + "\n").encode())
    except (UserError, HarkError) as error:
        sys.exit(f"zero_shot: {error}")
    sys.stdout.writelines(f"{name}: {scores}\n" for name, scores in results.items())


if __name__ == "__main__":
    main()
