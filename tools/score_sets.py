"""Score what tools/translate_sets.py translated, for tools/make_facts.py.

    python -m tools.score_sets NAME SETS HYPOTHESES -o evaluation.json

SETS has NAME.en-de.tsv and so on, HYPOTHESES the files NAME.en-de.de and NAME.en-de.en. BLEU and chrF2 by sacreBLEU, in
the form of `hark evaluate --json`, the best known sets first.
"""

import argparse
import json
import sys
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from sacrebleu.metrics import BLEU, CHRF

FIRST = ("europarl-test", "tatoeba-test", "newstest2014", "flores-dev", "written-test", "daily")


def score(sets: Path, hypotheses: Path) -> dict[str, Any]:
    """The scores of one direction of a set, by the file of its translations."""
    stem, target = hypotheses.name.rsplit(".", 1)
    name, pair = stem.split(".")
    sides = pair.split("-")
    source = sides[1 - sides.index(target)]
    rows = [line.split("\t") for line in (sets / f"{stem}.tsv").read_text(encoding="utf-8").split("\n")[:-1]]
    references = [[row[sides.index(target)] for row in rows]]
    lines = hypotheses.read_text(encoding="utf-8").split("\n")[:-1]
    found = {name: metric.corpus_score(lines, references).score for name, metric in metrics().items()}
    return {
        "name": f"{name}.{source}-{target}",
        "sentences": len(rows),
        "languages": [source, target],
        "scores": {name: {"score": value, "confidence": None} for name, value in found.items()},
    }


def metrics() -> dict[str, Any]:
    return {"bleu": BLEU(), "chrf2": CHRF()}


def describe(name: str, scored: list[dict[str, Any]]) -> dict[str, Any]:
    """The tree of `hark evaluate --json` for one system."""
    known = {each: place for place, each in enumerate(FIRST)}
    scored.sort(key=lambda each: known.get(each["name"].split(".")[0], len(known)))
    sets = [
        {**{key: each[key] for key in ("name", "sentences", "languages")},
         "systems": [{"name": name, "scores": each["scores"]}]}
        for each in scored
    ]  # fmt: skip
    signatures = {}
    for measure, metric in metrics().items():
        metric.corpus_score(["a"], [["a"]])  # a signature knows the number of references only then
        signatures[measure] = str(metric.get_signature())
    return {"kind": "hark evaluation", "sets": sets, "signatures": signatures, "resamples": 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="name of the model")
    parser.add_argument("sets", type=Path)
    parser.add_argument("hypotheses", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    said = parser.parse_args()
    with Pool() as pool:
        scored = pool.starmap(score, [(said.sets, path) for path in sorted(said.hypotheses.iterdir())], chunksize=4)
    said.output.write_text(json.dumps(describe(said.name, scored), indent=1), encoding="utf-8")
    sys.stdout.write(f"{len(scored)} directions\n")


if __name__ == "__main__":
    main()
