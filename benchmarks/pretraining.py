"""What pretraining is worth in translating from few pairs and in tagging, and a GPT's bits per byte: hark's own verbs.

    python -m benchmarks.pretraining translate europarl-en-de -o runs/pretraining
    python -m benchmarks.pretraining write europarl-en-de -o runs/pretraining
    python -m benchmarks.pretraining tag europarl-en-de --trees trees -o runs/pretraining
    python -m benchmarks.pretraining TASK --tiny -o FOLDER        the sample text, on a CPU in a minute: no quality

One GPU; run it again to go on where it stopped. The folder of text has train, dev and test in both languages
(`train.en.xz`; only `translate` needs German), that of trees `gum-train.trees.xz` and so on.

translate: a model learns to restore spans (T5) and another to infill (BART), in English and German, from all lines of
train by themselves; then both, and one without weights, learn to translate from the same pairs, each for as many
steps. The best on the dev set is measured.
write: a GPT learns English; measured is the dev set.
tag: a BERT learns English; then it, and one without weights, learn parts of speech from the same trees, each for as
many steps, with two seeds. The most accurate on the dev set is measured on the test set.
"""

import argparse
import json
import lzma
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from hark.data.sample import paths
from hark.errors import UserError
from hark.parse.treebank import open_treebank
from hark.rundir import RunDir
from hark.train.metrics import read_metrics

Settings = Mapping[str, object]
Texts = dict[str, tuple[str, str]]
"""Two files, in English and German, for each use."""
Scores = dict[str, dict[str, float]]
"""By system and metric."""
LANGUAGES = ("en", "de")
KINDS = {"spans": 0.15, "infilling": 0.3}
SHAPE = {
    "model.norm": "pre", "model.activation": "gelu", "model.dropout": 0.1, "train.clip_norm": 1.0,
    "batches.max_length": 256, "train.schedule": "linear",
}  # fmt: skip
"""Besides the paper's base model: it must learn at high rates with few warm-up steps."""


PARAGRAPH = 40
"""Lines of a document, where a model sees more than one: they are consecutive speech."""
GPT = {"batches.max_length": 512, "model.max_positions": 512, "train.batches_per_step": 1, "train.save_minutes": 2}
BERT = {
    "batches.max_length": 256, "model.max_positions": 256, "model.n_encoder_layers": 6, "model.d_model": 512,
    "model.d_ff": 2048, "model.n_heads": 8, "model.activation": "gelu", "model.positions": "learned",
    "model.scale_embedding": "false", "model.embedding_norm": "true",
}  # fmt: skip
RATES = {"pretrained": 0.03, "no pretraining": 0.1}
"""`train.rate_scale` of taggers: random weights need more."""
SEEDS = (1, 2)


@dataclass(frozen=True)
class Scale:
    pairs: int
    vocab_size: int
    pretraining: Settings
    translating: Settings
    gpt: Settings
    bert: Settings
    tagging: Settings
    model: Settings = field(default_factory=dict)
    lines: int | None = None
    """Lines of each file that are used; None: all."""


FULL = Scale(
    pairs=20_000,
    vocab_size=32_000,
    pretraining={"batches.batch_tokens": 65_536, "train.steps": 2000, "train.warmup_steps": 200,
                 "train.rate_scale": 0.35, "train.label_smoothing": 0.0, "train.eval_steps": 500,
                 "train.save_minutes": 2},
    translating={"batches.batch_tokens": 8192, "train.steps": 4000, "train.warmup_steps": 400,
                 "train.rate_scale": 0.3, "train.eval_steps": 250},
    gpt=GPT | {"train.steps": 2000, "train.warmup_steps": 200, "train.rate_scale": 0.3, "train.eval_steps": 500},
    bert=BERT | {"train.steps": 3000, "train.warmup_steps": 300, "train.rate_scale": 0.4, "train.eval_steps": 1000,
                 "train.batches_per_step": 1, "train.save_minutes": 2},
    tagging={"train.steps": 1000},
)  # fmt: skip
SMALL = {
    "model.d_model": 32, "model.d_ff": 64, "model.n_heads": 2, "model.n_encoder_layers": 1, "model.n_decoder_layers": 1,
}  # fmt: skip
FEW = {"batches.batch_tokens": 512, "train.steps": 20, "train.warmup_steps": 5, "train.eval_steps": 10}
TINY = Scale(
    pairs=100, vocab_size=600, pretraining=FEW, translating=FEW, gpt=GPT | FEW | SMALL, bert=BERT | FEW | SMALL,
    tagging=FEW, model=SMALL | {"batches.max_length": 64, "decode.max_extra": 5}, lines=300,
)  # fmt: skip


def hark(*words: object) -> str:
    """Run a verb; what it reports goes to stderr."""
    sys.stderr.write(f"$ hark {' '.join(map(str, words))}\n")
    done = subprocess.run([sys.executable, "-m", "hark", *map(str, words)], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    return done.stdout.decode()


def settings(*parts: Settings) -> list[str]:
    return [f"{name}={value}" for name, value in {name: each[name] for each in parts for name in each}.items()]


def train(run: RunDir, words: Sequence[object]) -> None:
    """Train, or go on with a run; one that is complete ends at once."""
    if any(run.checkpoints.glob("step-*")):
        hark("train", "--resume", run.path)
    else:
        hark("train", *words, "-o", run.path)


def cut(file: Path, lines: int | None, output: Path, step: int = 1, paragraph: int = 0) -> Path:
    """Write some lines of a compressed file: of every `step` the first; an empty line ends each paragraph."""
    if not output.exists():
        with lzma.open(file, "rt", encoding="utf-8") as opened:
            chosen = islice(opened, 0, None if lines is None else lines * step, step)
            content = "".join(
                f"{line}\n" if paragraph and i % paragraph == 0 else line for i, line in enumerate(chosen, 1)
            )
        output.write_text(content, encoding="utf-8")
    return output


def english(texts: Texts, scale: Scale, work: Path) -> Path:
    """Prepare the English text for `write` and `tag`."""
    files = [
        cut(Path(texts[use][0]), scale.lines, work / f"{use}.txt", paragraph=PARAGRAPH) for use in ("train", "dev")
    ]
    hark(
        "prepare", "bert", "data.documents=paragraph", "--vocab", scale.vocab_size, "--text", files[0],
        "--text-dev", files[1], "-o", work / "english",
    )  # fmt: skip
    return work / "english"


def write(texts: Texts, scale: Scale, work: Path, _: Path | None) -> Scores:
    run = RunDir(work / "gpt")
    train(run, ["gpt", f"data.dataset={english(texts, scale, work)}", *settings(scale.gpt)])
    best = min(read_metrics(run.metrics).dev, key=lambda record: record.nll)
    return {"gpt": {"nats/token": best.nll, **best.scores, "step": best.step}}


def tag(texts: Texts, scale: Scale, work: Path, trees: Path | None) -> Scores:
    if trees is None:
        raise UserError("tag: name the folder of trees with --trees")
    treebank, files = open_treebank("gum", trees), {}
    for use, part in (("train", treebank.train), ("dev", treebank.dev), ("test", treebank.test)):
        files[use] = work / f"{use}.tsv"
        found = ("".join(f"{leaf.word}\t{leaf.label}\n" for leaf in tree.leaves()) for tree in part[: scale.lines])
        files[use].write_text("\n".join(found), encoding="utf-8")
    bert = RunDir(work / "bert")
    train(bert, ["bert", f"data.dataset={english(texts, scale, work)}", *settings(scale.bert)])
    hark(
        "prepare", "classify", f"train.from={bert.best}", "data.labels=words", "--text", files["train"],
        "--text-dev", files["dev"], "-o", work / "tags",
    )  # fmt: skip
    shape = {name: value for name, value in scale.bert.items() if name.startswith(("model.", "batches.max"))}
    starts = {"pretrained": [f"train.from={bert.best}"], "no pretraining": settings(shape)}
    scores = {}
    for name, start in starts.items():
        for seed in SEEDS:
            run = RunDir(work / f"tags-{name.replace(' ', '-')}-{seed}")
            rate = {"train.rate_scale": RATES[name], "train.seed": seed}
            train(run, ["classify", f"data.dataset={work / 'tags'}", *start, *settings(scale.tagging, rate)])
            scored = json.loads(hark("classify", "-m", run.best, "--labelled", files["test"], "--json"))
            scores[f"{name}, {seed}"] = {"accuracy": scored["accuracy"]}
    return scores


def translate(texts: Texts, scale: Scale, work: Path, _: Path | None) -> Scores:
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
        "prepare", f"train.from={RunDir(work / 'spans').best}", "data.clean.language=1", "--pair", *LANGUAGES,
        "--train", *pairs, "--dev", *files["dev"], "--test", *files["test"], "-o", work / "pairs",
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


TASKS = {"translate": translate, "write": write, "tag": tag}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("text", nargs="?", metavar="FOLDER", help="text, by default hark's sample")
    parser.add_argument("--trees", type=Path, metavar="FOLDER", help="trees, for tag")
    parser.add_argument("--tiny", action="store_true", help="tiny models: checks that everything runs")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="datasets and runs")
    said = parser.parse_args()
    texts = paths()
    if folder := said.text:
        texts = {use: (f"{folder}/{use}.en.xz", f"{folder}/{use}.de.xz") for use in texts}
    said.output.mkdir(parents=True, exist_ok=True)
    try:
        scores = TASKS[said.task](texts, TINY if said.tiny else FULL, said.output, said.trees)
    except UserError as error:
        parser.error(str(error))
    metrics = list(next(iter(scores.values())))
    print(f"{'':20}" + "".join(f"{metric:>12}" for metric in metrics))
    for name, of_system in scores.items():
        print(f"{name:20}" + "".join(f"{of_system[metric]:12.3f}" for metric in metrics))


if __name__ == "__main__":
    main()
