"""Quality and speed on this machine of the model that comes with hark, and the everyday lines that fail.

    python -m benchmarks.shipped [--json FILE]

It is measured between English and German. BLEU, chrF2 and speed (text to text) are measured on the 1,000 test sentences
of Tatoeba that come with hark; the start is the median time of a new process to its first translation; the everyday
lines are those of everyday.toml. Nothing is downloaded.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks.everyday import LINES, check_lines, sample_set
from benchmarks.lines import read_lines
from benchmarks.start import GREETINGS, seconds
from hark.evaluate.evaluation import evaluate
from hark.evaluate.measures import choose_tokenisation
from hark.evaluate.systems import Model
from hark.facts import LanguagePair
from hark.machine import available_cores
from hark.models import InstalledModel, list_models, shipped_folder
from hark.translate.load import Loaded

STARTS = 5
DIRECTIONS: tuple[LanguagePair, ...] = (("en", "de"), ("de", "en"))
HEADS = ("model", "direction", "MB", "BLEU", "chrF2", "sentences/s", "tokens/s", "start s", "everyday lines")


def measure(model: InstalledModel, pair: LanguagePair) -> dict[str, Any]:
    loaded = Loaded(model.folder, device="cpu", pair=pair)
    source, target = pair
    held_out = sample_set(source)
    of_source, of_target = choose_tokenisation(source), choose_tokenisation(target)
    result = evaluate([held_out], [Model(model.name, loaded)], of_source, of_target, 0, language=target)
    system = result.sets[0].systems[0]
    speed = system.output.speed
    assert speed is not None, "models are timed"
    lines = read_lines(LINES, f"{source}-{target}")
    failures = check_lines(loaded, lines)
    loaded.close()
    command = [sys.executable, "-m", "hark", "translate", "-m", str(model.folder), "-t", target, GREETINGS[target]]
    starts = [seconds(command) for _ in range(STARTS)]
    return {
        "model": model.name,
        "direction": f"{source}-{target}",
        "bytes": model.size,
        "test_set": {"name": held_out.name, "sentences": len(held_out)},
        "bleu": system.scores["bleu"].value,
        "chrf2": system.scores["chrf2"].value,
        "signatures": {name: result.signatures[name] for name in ("bleu", "chrf2")},
        "engine": speed.engine,
        "cores": available_cores(),
        "sentences_per_second": speed.sentences_per_second,
        "tokens_per_second": speed.tokens_per_second,
        "start_seconds": statistics.median(starts),
        "lines": sum(map(len, lines.values())),
        "failures": [vars(each) for each in failures],
    }


def table(results: list[dict[str, Any]]) -> list[str]:
    rows = [HEADS]
    for each in results:
        passed = each["lines"] - len(each["failures"])
        rows.append(
            (
                each["model"], each["direction"], f"{each['bytes'] / 1e6:.1f}",
                f"{each['bleu']:.1f}", f"{each['chrf2']:.1f}",
                f"{each['sentences_per_second']:.0f}", f"{each['tokens_per_second']:,.0f}",
                f"{each['start_seconds']:.2f}", f"{passed} of {each['lines']} ({passed / each['lines']:.0%})",
            )
        )  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    about, of = results[0], results[0]["test_set"]
    lines += [
        f"{of['name']}, {of['sentences']:,} sentences; {about['engine']}, {about['cores']} cores",
        *(f"{name}: {signature}" for name, signature in about["signatures"].items()),
    ]
    for each in results:
        lines += [
            f"{each['model']}, {each['direction']}, {fail['kind']}: {fail['text']} -> {fail['answer']}"
            for fail in each["failures"]
        ]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures as JSON")
    arguments = parser.parse_args()
    installed = list_models([shipped_folder()])
    results = [measure(each, pair) for each in installed for pair in DIRECTIONS if pair in each.pairs]
    if not results:
        sys.exit(f"shipped: no models in {shipped_folder()}")
    print("\n".join(table(results)))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
