"""How good a model is after so many minutes, ours and Hugging Face's Marian: the same text, the same model, one GPU.

python -m benchmarks.time_to_quality --dataset D --folder F --minutes 9 --keep 5     Marian, for 9 minutes (more)
python -m benchmarks.time_to_quality --score F RUN                                   BLEU of all weights that were kept
python -m benchmarks.time_to_quality --folder F --ours RUN --draw picture.svg        one table, and one picture

D was made by `hark prepare`. Both systems have the same tokenizer, pairs in every step, initial weights, recipe (Adam,
warm-up, label smoothing, dropout) and precision (bfloat16 with float32 weights). RUN is a run of `hark train`; F is
trained here, by a plain loop around transformers' MarianMTModel, as fast as we know to make it: compiled (peers.py),
with each batch in the number of groups of padded rows that is fastest (rows.py). So its curve is ours by steps, and
another by the clock. A command trains for some minutes, and the next goes on exactly there.

The clock is that of training alone, on both sides: neither start (compiling, recording, reading data) nor measuring nor
saving count. Dev losses are computed by the same code: Marian's weights become ours (marian_weights.py), and are
measured as `hark train` measures its own. So does BLEU: both are translated by our engine, beam 4, alpha 0.6
(score_kept.py). For the times of a run of ours to be exact, let train.eval_steps and train.save_steps be multiples of
train.log_steps, and train.save_minutes large; a checkpoint at another step counts as training.
"""

import argparse
import sys
import time
from pathlib import Path

import torch

from benchmarks.peers import VARIANTS
from benchmarks.quality_curves import System, draw, read_rival, read_run, table
from hark import configfile
from hark.config import Config
from hark.data.dataset import Dataset
from hark.errors import HarkError, UserError
from hark.recipes import FOLDER as RECIPES
from hark.rundir import RunDir
from hark.train.start import open_dataset, resolve

FASTEST = "bf16"
"""Of Marian's variants, by benchmarks/train_speed.py."""


def train(arguments: argparse.Namespace, device: torch.device) -> None:
    from benchmarks.marian_run import MarianRun

    # Compiled layers ask for the interpreter again and again, while a thread makes the next batch: each time they would
    # wait for as long as that thread may go on.
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
    print(f"{time.monotonic() - started:.0f} s in all, of which {trained:.0f} s were training")


def settings(arguments: argparse.Namespace) -> tuple[Config, Dataset]:
    if arguments.dataset is None:
        raise UserError("--dataset: name the folder that `hark prepare` made")
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
    parser.add_argument("--dataset", type=Path, help="made by `hark prepare`")
    parser.add_argument("--recipe", default="base", help="of the model and its training (else base)")
    parser.add_argument("--folder", type=Path, help="Marian's: begun here, or gone on with")
    parser.add_argument("--minutes", type=float, help="train for so long")
    parser.add_argument("--every", type=float, default=1.0, help="minutes of training between measurements (else 1)")
    parser.add_argument("--keep", default="", help="minutes since the beginning at which weights are kept, with commas")
    parser.add_argument("--wall", type=float, help="stop, and save, once the command has run for so many seconds")
    parser.add_argument("--variant", default=FASTEST, choices=list(VARIANTS), help=f"else {FASTEST}")
    parser.add_argument("--init", default="ours", choices=["ours", "theirs"], help="initial weights (else ours)")
    parser.add_argument("--score", type=Path, nargs="+", metavar="FOLDER", help="Marian's folders, or runs of ours")
    parser.add_argument("--sets", default="", help="test sets to translate, with commas (else all)")
    parser.add_argument("--ours", type=Path, nargs="*", default=[], metavar="RUN")
    parser.add_argument("--draw", type=Path, metavar="PICTURE.svg")
    parser.add_argument("--tiny", action="store_true", help="a tiny model on the CPU, for correctness only")
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() and not arguments.tiny else "cpu")
    try:
        if arguments.minutes is not None:
            if arguments.folder is None:
                parser.error("--minutes: trains in a --folder")
            train(arguments, device)
        if arguments.score:
            score(arguments, device)
        if arguments.ours or arguments.draw:
            show(arguments)
    except (HarkError, UserError) as error:
        sys.exit(f"time_to_quality: {error}")


if __name__ == "__main__":
    main()
