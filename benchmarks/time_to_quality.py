"""Quality against training time, ours and Hugging Face's Marian: the same text, the same model, one GPU.

python -m benchmarks.time_to_quality --dataset D --folder F --minutes 9 --keep 5     train Marian for 9 (more) minutes
python -m benchmarks.time_to_quality --score F RUN                                   BLEU of all saved weights
python -m benchmarks.time_to_quality --folder F --ours RUN --draw picture.svg        a table and a plot

D is a dataset from `hark prepare`. Both systems have the same tokenizer, pairs in every step, initial weights, recipe
(Adam, warmup, label smoothing, dropout) and precision (bfloat16 with float32 weights). RUN is a run of `hark train`; F
is trained here, by a plain loop around transformers' MarianMTModel, as fast as we can make it: compiled
(peer_training.py), with each batch in the fastest number of groups of padded rows (rows.py). So it learns the same per
step, but not per second. A command trains for some minutes, and the next one resumes exactly there.

Only training time counts, on both sides: not the start (compiling, capturing graphs, reading data), evaluating or
saving. Dev losses are computed by the same code: Marian's weights are converted to ours (marian_weights.py) and
evaluated as in `hark train`. The same holds for BLEU: our engine translates with both, beam 4, alpha 0.6
(score_kept.py). For exact times of our runs, set train.eval_steps and train.save_steps to multiples of train.log_steps,
and train.save_minutes to a large value; a checkpoint at any other step counts as training.
"""

import argparse
import sys
import time
from pathlib import Path

import torch

from benchmarks.peer_training import VARIANTS
from benchmarks.quality_curves import System, draw, read_rival, read_run, table
from hark import configfile
from hark.config import Config
from hark.data.dataset import Dataset
from hark.errors import HarkError, UserError
from hark.recipes import FOLDER as RECIPES
from hark.rundir import RunDir
from hark.train.start import open_dataset, resolve

FASTEST = "bf16"
"""The fastest variant of Marian, according to benchmarks/train_speed.py."""


def train(arguments: argparse.Namespace, device: torch.device) -> None:
    from benchmarks.marian_run import MarianRun

    # Compiled layers acquire the GIL again and again while a thread prepares the next batch: each time they would wait
    # for a whole switch interval.
    sys.setswitchinterval(1e-4)
    config, dataset = settings(arguments)
    started = time.monotonic()
    run = MarianRun(arguments.folder, config, dataset, device, arguments.variant, arguments.init)
    every, minutes = arguments.every, arguments.minutes
    before = run.progress.seconds / 60
    marks = [number * every for number in range(int(before / every), int((before + minutes) / every) + 2)]
    keep = [float(each) for each in arguments.keep.split(",") if each]
    print(f"{machine(device)}; torch {torch.__version__}; Marian, {VARIANTS[arguments.variant]}; {before:.2f} min done")
    run.train(minutes, marks, keep, None if arguments.wall is None else started + arguments.wall)
    trained = run.progress.seconds - 60 * before
    print(f"{time.monotonic() - started:.0f} s in total, {trained:.0f} s of training")


def settings(arguments: argparse.Namespace) -> tuple[Config, Dataset]:
    if arguments.dataset is None:
        raise UserError("--dataset is required: a folder from hark prepare")
    recipe = RECIPES / ("tiny.toml" if arguments.tiny else f"{arguments.recipe}.toml")
    config = configfile.load(recipe, [f"data.dataset={arguments.dataset}", *arguments.settings])
    dataset = open_dataset(config.data)
    return resolve(config, dataset), dataset


def score(arguments: argparse.Namespace, device: torch.device) -> None:
    from benchmarks.score_kept import score_folder

    sets = [each for each in arguments.sets.split(",") if each]
    for folder in arguments.score:
        for each in score_folder(folder, arguments.dataset, sets, device):
            print(
                f"{folder}: {each.seconds / 60:.2f} minutes, step {each.steps:,}, {each.set} ({each.sentences:,} "
                f"sentences): BLEU {each.bleu:.2f} {each.signature}",
                flush=True,
            )


def show(arguments: argparse.Namespace) -> None:
    systems: list[System] = []
    if arguments.folder is not None:
        systems.append(read_rival(arguments.folder, "Hugging Face Marian"))
    for run in map(RunDir, arguments.ours):
        systems.append(read_run(run, f"hark, {run.name}" if len(arguments.ours) > 1 else "hark"))
    print(table(systems))
    if arguments.draw is not None:
        arguments.draw.write_text(draw(systems), encoding="utf-8")


def machine(device: torch.device) -> str:
    return torch.cuda.get_device_name() if device.type == "cuda" else "CPU, for correctness only"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", metavar="SECTION.KEY=VALUE", help="settings of the recipe to change")
    parser.add_argument("--dataset", type=Path, help="folder from `hark prepare`")
    parser.add_argument("--recipe", default="base", help="recipe of model and training (default: base)")
    parser.add_argument("--folder", type=Path, help="folder of Marian's run, new or to be resumed")
    parser.add_argument("--minutes", type=float, help="minutes to train")
    parser.add_argument("--every", type=float, default=1.0, help="minutes of training between evaluations (default: 1)")
    parser.add_argument("--keep", default="", help="minutes since the start at which to save weights, comma-separated")
    parser.add_argument("--wall", type=float, help="save and stop after this many seconds of wall time")
    parser.add_argument("--variant", default=FASTEST, choices=list(VARIANTS), help=f"default: {FASTEST}")
    parser.add_argument("--init", default="ours", choices=["ours", "theirs"], help="initial weights (default: ours)")
    parser.add_argument("--score", type=Path, nargs="+", metavar="FOLDER", help="folders of Marian's runs or ours")
    parser.add_argument("--sets", default="", help="test sets to translate, comma-separated (default: all)")
    parser.add_argument("--ours", type=Path, nargs="*", default=[], metavar="RUN")
    parser.add_argument("--draw", type=Path, metavar="PICTURE.svg")
    parser.add_argument("--tiny", action="store_true", help="tiny model on the CPU; checks correctness only")
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() and not arguments.tiny else "cpu")
    try:
        if arguments.minutes is not None:
            if arguments.folder is None:
                parser.error("--minutes requires --folder")
            train(arguments, device)
        if arguments.score:
            score(arguments, device)
        if arguments.ours or arguments.draw:
            show(arguments)
    except (HarkError, UserError) as error:
        sys.exit(f"time_to_quality: {error}")


if __name__ == "__main__":
    main()
