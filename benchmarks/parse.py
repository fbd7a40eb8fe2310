"""Parsing (paper, section 6.3): trains a parser on GUM or the WSJ sample, parses the test set and scores it.

    python -m benchmarks.parse gum --data shared/data/trees -o reproduce/parse-gum
    python -m benchmarks.parse wsj_sample --data shared/data/trees -o reproduce/parse-wsj --recipe parse-small
    python -m benchmarks.parse gum --data shared/data/trees -o /tmp/rehearsal --trees 500 train.steps=200 ...

An interrupted run continues when the same command is given again. Writes result.json, table.md and curve.svg.
"""

import argparse
import json
from pathlib import Path

from hark.monitor.watch import watch_run
from hark.parse.experiment import run_parsing
from hark.parse.length_curve import length_table
from hark.parse.treebank import GUM, WSJ_SAMPLE, open_treebank


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebank", choices=(GUM, WSJ_SAMPLE))
    parser.add_argument("overrides", nargs="*", metavar="SETTING=VALUE", help="settings of the recipe to change")
    parser.add_argument("--data", type=Path, required=True, help="folder with gum-train.trees.xz, ...")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of dataset, run and results")
    parser.add_argument("--recipe", default="parse")
    parser.add_argument("--trees", type=int, help="use only the first trees, and a fifth of that for dev and test")
    parser.add_argument("--device", default="auto")
    asked = parser.parse_intermixed_args(arguments)
    treebank = open_treebank(asked.treebank, asked.data)
    treebank = treebank.cut(asked.trees) if asked.trees else treebank
    result = run_parsing(treebank, asked.output, asked.recipe, asked.overrides, asked.device, watch_run)
    print(result.table())
    print("\n".join(length_table(result.by_length)))
    print(json.dumps(result.to_tree()))


if __name__ == "__main__":
    main()
