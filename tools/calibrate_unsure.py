"""Chooses, for each direction of a model, the threshold above which a translation is flagged as unsure.

    python -m tools.calibrate_unsure BUNDLE FOLDER [--lines 60] [--write]

FOLDER has the same closed text in every language: dev.en.xz, dev.de.xz, ... The model is less certain of a direction
that it learned from people's translations than of one that it learned from a teacher. So each gets the threshold that
flags one in eight of the lines that it translates well, with a chrF2 of at least 65. Prints the thresholds, and how
well they find the others; --write stores them in the facts of the bundle.
"""

import argparse
import math
import random
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from sacrebleu.metrics import CHRF

from hark.bundle import Bundle, write_facts
from hark.translate.load import Loaded
from tools.tables import read_lines

FLAGGED = 1 / 8
"""Of the lines that are right."""
WRONG = 65
"""Of 3,600 judged translations of data/closed, an eighth of the usable ones and an eighth of those above this chrF2 lie
above the same threshold, 0.42."""
Scored = tuple[float, float]
"""Mean negative log-probability per token, and chrF2."""


def score_direction(
    model: Loaded, sources: Iterable[str], references: Iterable[str], source: str, target: str
) -> Iterator[Scored]:
    outputs = model.translate(sources, source=source, target=target, split=False, check=False)
    for output, reference in zip(outputs, references, strict=True):
        if confidence := output.confidence(model.config.decode.alpha):
            yield -math.log(confidence), CHRF().sentence_score(output.text, [reference]).score


def choose(scored: list[Scored]) -> float:
    """The threshold above which an eighth of the right lines lies."""
    doubts = sorted(doubt for doubt, chrf in scored if chrf >= WRONG)
    return round(doubts[int((1 - FLAGGED) * len(doubts))], 2)


def describe(scored: dict[str, list[Scored]], thresholds: dict[str, float]) -> str:
    flagged = [chrf for name, some in scored.items() for doubt, chrf in some if doubt > thresholds[name]]
    every = [chrf for some in scored.values() for _, chrf in some]
    hits, wrong = sum(chrf < WRONG for chrf in flagged), sum(chrf < WRONG for chrf in every)
    return (
        f"{len(flagged) / len(every):.1%} of {len(every):,} flagged; of {wrong} with a chrF2 below {WRONG}, {hits} "
        f"(recall {hits / max(wrong, 1):.2f}, precision {hits / max(len(flagged), 1):.2f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lines", type=int, default=60)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    model = Loaded(asked.bundle)
    languages = {language for pair in model.facts.pairs for language in pair}
    text = {language: list(read_lines(asked.folder / f"dev.{language}.xz")) for language in languages}
    picked = random.Random(7).sample(range(len(text["en"])), asked.lines)
    scored: dict[str, list[Scored]] = {}
    for source, target in model.facts.pairs:
        sources, references = ([text[language][i] for i in picked] for language in (source, target))
        scored[f"{source}-{target}"] = list(score_direction(model, sources, references, source, target))
    chosen = {name: choose(some) for name, some in scored.items()}
    everywhere = choose([each for some in scored.values() for each in some])
    sys.stdout.write(f"{everywhere} everywhere: {describe(scored, dict.fromkeys(scored, everywhere))}\n")
    sys.stdout.write(f"by direction: {describe(scored, chosen)}\n")
    sys.stdout.writelines(f"{name} {threshold}\n" for name, threshold in chosen.items())
    if asked.write:
        bundle = Bundle.open(asked.bundle)
        write_facts(bundle, replace(bundle.facts, unsure=everywhere, unsure_directions=chosen))


if __name__ == "__main__":
    main()
