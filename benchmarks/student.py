"""A student against its teacher: BLEU on each test set, and sentences per second on this CPU.

    python -m benchmarks.student STUDENT TEACHER --dataset DATASET [--json FILE] [--evaluation FILE]

Test sets are those of a prepared dataset, or --source, --reference and --name, as in `hark evaluate`. Both models
translate all of them on a CPU, and sacreBLEU's paired bootstrap tests whether they differ. `--evaluation` takes the
scores from an earlier `hark evaluate STUDENT TEACHER --json` instead, which may have used a GPU. Speed is measured
separately, each model with its own search, text to text: the same --sentences of each set, both models in turn,
--repeats times, and the best counts. The JSON is that of `hark evaluate` with an additional key `cpu`.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hark.errors import HarkError, UserError
from hark.evaluate.evaluation import KIND, evaluate
from hark.evaluate.held_out import HeldOutSet, open_sets
from hark.evaluate.measures import choose_tokenisation
from hark.evaluate.systems import Model, check_systems, name_models
from hark.machine import available_cores
from hark.translate.load import Loaded

HEADS = ("test set", "sentences", "teacher", "student", "loss", "p", "teacher/s", "student/s", "ratio")


def sample_evenly(held_out: HeldOutSet, sentences: int) -> HeldOutSet:
    """Take sentences of a set at equal distances: sets may be sorted by length."""
    chosen = range(0, len(held_out), max(1, len(held_out) // sentences))[:sentences]
    return HeldOutSet(
        held_out.name, tuple(held_out.sources[i] for i in chosen), tuple(held_out.references[i] for i in chosen)
    )


def speeds(models: Sequence[Model], held_out: HeldOutSet, repeats: int) -> dict[str, float]:
    """Sentences per second of each model: the best of the repeats, with models taking turns."""
    best = {model.name: 0.0 for model in models}
    for _ in range(repeats):
        for model in models:
            assert model.load_seconds  # loaded and warmed up
            vars(model.loaded).pop("translator", None)  # it remembers sentences, and a repeat must translate them again
            start = time.perf_counter()
            model.translate(held_out, lambda: None)
            best[model.name] = max(best[model.name], len(held_out) / (time.perf_counter() - start))
    return best


def read_evaluation(file: Path, names: Sequence[str], sets: Sequence[HeldOutSet]) -> dict[str, Any]:
    """Read an earlier evaluation of exactly these two models on exactly these sets."""
    tree: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    found = [(each["name"], [system["name"] for system in each["systems"]]) for each in tree.get("sets", [])]
    if tree.get("kind") != KIND or found != [(each.name, list(names)) for each in sets]:
        raise UserError(f"{file}: not an evaluation of {' and '.join(names)} on these test sets")
    return tree


def table(tree: dict[str, Any]) -> list[str]:
    """Format the table, teacher first; p is for their difference."""
    rows = [HEADS]
    for each in tree["sets"]:
        student, teacher = each["systems"]
        bleu = [system["scores"]["bleu"]["score"] for system in (teacher, student)]
        p = teacher["scores"]["bleu"]["p"]
        rate = [tree["cpu"]["sets"][each["name"]][system["name"]] for system in (teacher, student)]
        cells = [*(f"{score:.1f}" for score in bleu), f"{bleu[0] - bleu[1]:.1f}", "" if p is None else f"{p:.3f}"]
        cells += [*(f"{speed:.1f}" for speed in rate), f"{rate[1] / rate[0]:.1f}x"]
        rows.append((each["name"], f"{each['sentences']:,}", *cells))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cpu = tree["cpu"]
    return [
        *("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows),
        f"BLEU: {tree['signatures']['bleu']}",
        f"speed: {cpu['engine']}, {cpu['cores']} cores, sentences/s, best of {cpu['repeats']} over at most "
        f"{cpu['sentences']} sentences of each set",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("student", help="folder, run or name")
    parser.add_argument("teacher")
    parser.add_argument("--dataset", type=Path)
    parser.add_argument("--source", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--reference", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--name", action="append", default=[])
    parser.add_argument("--evaluation", type=Path, metavar="FILE", help="take the scores from this file")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures as JSON")
    arguments = parser.parse_args()
    try:
        names = name_models([arguments.student, arguments.teacher])
        given = (arguments.student, arguments.teacher)
        models = [Model(name, Loaded.named(each, device="cpu")) for name, each in zip(names, given, strict=True)]
        sets, pair = open_sets(arguments.source, arguments.reference, arguments.name, arguments.dataset, models[0].pair)
        check_systems(models, [], pair)
        of_source, of_target = map(choose_tokenisation, models[0].pair)
        if arguments.evaluation:
            tree = read_evaluation(arguments.evaluation, names, sets)
        else:
            tree = json.loads(
                evaluate(sets, models, of_source, of_target, arguments.resamples, language=models[0].pair[1]).to_json()
            )
        found = {
            each.name: speeds(models, sample_evenly(each, arguments.sentences), arguments.repeats) for each in sets
        }
        about = {"engine": models[0].loaded.engine.name, "cores": available_cores()}
        tree["cpu"] = {**about, "sentences": arguments.sentences, "repeats": arguments.repeats, "sets": found}
    except (UserError, HarkError) as error:
        sys.exit(f"student: {error}")
    print("\n".join(table(tree)))
    if arguments.json:
        arguments.json.write_text(json.dumps(tree, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
