"""Translating after denoising pretraining and without it: BLEU from few pairs, with hark's own verbs.

    python -m benchmarks.pretraining europarl-en-de -o FOLDER     one GPU; run it again to go on where it stopped
    python -m benchmarks.pretraining --tiny -o FOLDER             the sample text, on a CPU in a minute: no quality

The folder of text has train, dev and test in both languages (`train.en.xz`). A model learns to restore spans (T5) and
another to infill (BART), in English and German, from all lines of train by themselves; then both, and one without
weights, learn to translate from the same pairs, each for as many steps. The best on the dev set is measured.
"""

import argparse
import json
import lzma
import subprocess
import sys
from collections import ChainMap
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from hark.data.sample import paths
from hark.rundir import RunDir

LANGUAGES = ("en", "de")
KINDS = {"spans": 0.15, "infilling": 0.3}
SHAPE = {
    "model.norm": "pre", "model.activation": "gelu", "model.dropout": 0.1, "train.clip_norm": 1.0,
    "batches.max_length": 256, "train.schedule": "linear",
}  # fmt: skip
"""Besides the paper's base model: it must learn at high rates with few warm-up steps."""


@dataclass(frozen=True)
class Scale:
    pairs: int
    vocab_size: int
    pretraining: dict[str, object]
    translating: dict[str, object]
    model: dict[str, object] = field(default_factory=dict)
    lines: int | None = None
    """Lines of each file that are used; None: all."""


FULL = Scale(
    pairs=20_000,
    vocab_size=32_000,
    pretraining={"batches.batch_tokens": 65_536, "train.steps": 20_000, "train.warmup_steps": 2000,
                 "train.rate_scale": 0.7, "train.label_smoothing": 0.0, "train.eval_steps": 2000},
    translating={"batches.batch_tokens": 8192, "train.steps": 6000, "train.warmup_steps": 600,
                 "train.rate_scale": 0.3, "train.eval_steps": 250},
)  # fmt: skip
TINY = Scale(
    pairs=100,
    vocab_size=600,
    pretraining={"batches.batch_tokens": 512, "train.steps": 20, "train.warmup_steps": 5, "train.eval_steps": 10},
    translating={"batches.batch_tokens": 512, "train.steps": 20, "train.warmup_steps": 5, "train.eval_steps": 10},
    model={"model.d_model": 32, "model.d_ff": 64, "model.n_heads": 2, "model.n_encoder_layers": 1,
           "model.n_decoder_layers": 1, "batches.max_length": 64, "decode.max_extra": 5},
    lines=300,
)  # fmt: skip


def hark(*words: object) -> str:
    """Run a verb; what it reports goes to stderr."""
    sys.stderr.write(f"$ hark {' '.join(map(str, words))}\n")
    done = subprocess.run([sys.executable, "-m", "hark", *map(str, words)], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    return done.stdout.decode()


def settings(*parts: dict[str, object]) -> list[str]:
    return [f"{name}={value}" for name, value in ChainMap(*reversed(parts)).items()]


def train(run: RunDir, words: Sequence[object]) -> None:
    """Train, or go on with a run; one that is complete ends at once."""
    if any(run.checkpoints.glob("step-*")):
        hark("train", "--resume", run.path)
    else:
        hark("train", *words, "-o", run.path)


def cut(file: Path, lines: int | None, output: Path, step: int = 1) -> Path:
    """Write some lines of a compressed file: of every `step` the first."""
    if not output.exists():
        with lzma.open(file, "rt", encoding="utf-8") as opened:
            content = "".join(islice(opened, 0, None if lines is None else lines * step, step))
        output.write_text(content, encoding="utf-8")
    return output


def measure(texts: dict[str, tuple[str, str]], scale: Scale, work: Path) -> dict[str, dict[str, float]]:
    """Train and score all models; return their scores by metric."""
    work.mkdir(parents=True, exist_ok=True)
    files = {
        use: [cut(Path(file), scale.lines, work / f"{use}.{code}") for file, code in zip(of, LANGUAGES, strict=True)]
        for use, of in texts.items()
    }
    step = max(1, sum(1 for _ in files["train"][0].open(encoding="utf-8")) // scale.pairs)
    pairs = [cut(Path(file), scale.pairs, work / f"pairs.{code}", step)
             for file, code in zip(texts["train"], LANGUAGES, strict=True)]  # fmt: skip
    base = {**SHAPE, **scale.model}
    recipe = work / "held-out.toml"  # lines of the test set, too, are kept out of the text
    recipe.write_text("[data]\ntest = [" + ", ".join(f'{{ source = "{file}" }}' for file in files["test"]) + "]\n")
    hark(
        "prepare", recipe, "data.documents=line", "data.sentinels=100", "--vocab", scale.vocab_size,
        *(word for file in files["train"] for word in ("--text", file)),
        *(word for file in files["dev"] for word in ("--text-dev", file)), "-o", work / "text",
    )  # fmt: skip
    starts: dict[str, list[str]] = {"no pretraining": settings(base)}
    for kind, share in KINDS.items():
        run = RunDir(work / kind)
        corrupted = {"batches.corrupted": kind, "batches.masked": share}
        train(run, [f"data.dataset={work / 'text'}", *settings(base, scale.pretraining, corrupted)])
        starts[kind] = [f"train.from={run.best}", *settings({n: v for n, v in base.items() if n.startswith("train.")})]
    hark(
        "prepare", f"train.from={RunDir(work / 'spans').best}", "--pair", *LANGUAGES, "--train", *pairs,
        "--dev", *files["dev"], "--test", *files["test"], "-o", work / "pairs",
    )  # fmt: skip
    scores = {}
    for name, start in starts.items():
        run = RunDir(work / f"{name.replace(' ', '-')}-{'-'.join(LANGUAGES)}")
        train(run, [f"data.dataset={work / 'pairs'}", *start, *settings(scale.translating)])
        source, reference = files["test"]
        scored = hark("evaluate", run.best, "--source", source, "--reference", reference, "--json", "--resamples", 0)
        (system,) = json.loads(scored)["sets"][0]["systems"]
        scores[name] = {metric: value["score"] for metric, value in system["scores"].items()}
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="?", metavar="FOLDER", help="text, by default hark's sample")
    parser.add_argument("--tiny", action="store_true", help="tiny models: checks that everything runs")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="datasets and runs")
    arguments = parser.parse_args()
    texts = paths()
    if folder := arguments.text:
        texts = {use: (f"{folder}/{use}.en.xz", f"{folder}/{use}.de.xz") for use in texts}
    scores = measure(texts, TINY if arguments.tiny else FULL, arguments.output)
    metrics = list(next(iter(scores.values())))
    print(f"{'':16}" + "".join(f"{metric:>12}" for metric in metrics))
    for name, of_system in scores.items():
        print(f"{name:16}" + "".join(f"{of_system[metric]:12.2f}" for metric in metrics))


if __name__ == "__main__":
    main()
