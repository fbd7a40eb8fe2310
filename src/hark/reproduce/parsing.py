"""A parsing trial: train a parser on a treebank, parse its test set, and score the trees."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hark.config import Config, CorpusConfig
from hark.data.prepare import prepare
from hark.parse.parser import Parser
from hark.parse.score import LengthScore, TreePair, score_by_length, score_trees
from hark.parse.treebank import RightBranching, Treebank
from hark.reproduce.trial import Advance, Trial, read_cost, train_trial
from hark.reproduce.work import Row, Work
from hark.text.trees import Tree, format_tree
from hark.train.export import average_run
from hark.translate.load import Loaded

TRAINING = 0.8


def run_parsing(config: Config, treebank: Treebank, part: str, work: Work, advance: Advance) -> Row:
    """Train or resume, choose between the best and the averaged weights on the dev set, and score the test set."""
    text = work.folder / "text" / f"{treebank.name}-{config.data.vocab_size}"
    config = write_text(config, treebank, text)
    trial = Trial.of(config, prepare(config, text / "dataset").dataset, work.device)
    run = train_trial(trial, work.run_folder(part), lambda share: advance(TRAINING * share))
    average = run.path / "average"
    average_run(run, min(config.train.average_last, run.saved), average, force=True)
    dev = {}
    for name, bundle in (("best", run.best), ("average", average)):
        dev[name] = score_trees(parse_trees(bundle, treebank.dev, work.device, beam=1)).to_tree()
        advance(1 - (1 - TRAINING) * (0.9 if name == "best" else 0.8))
    chosen = max(dev, key=lambda name: dev[name]["f1"])
    pairs = parse_trees(run.best if chosen == "best" else average, treebank.test, work.device)
    write_trees(work.folder / "trees" / f"{part}.trees", (tree for _, tree in pairs))
    branching = RightBranching.learn(treebank.train)
    baseline = [(tree, branching.build(tree.words())) for tree in treebank.test]
    cost, search = read_cost(run), config.decode
    return {
        "treebank": treebank.name,
        "what": treebank.what,
        "sentences": {name: len(getattr(treebank, name)) for name in ("train", "dev", "test")},
        "layers": config.model.n_encoder_layers,
        "width": config.model.d_model,
        "weights": cost.weights,
        "steps": cost.steps,
        "batch_tokens": config.batches.batch_tokens,
        "seconds": cost.seconds,
        "device": cost.device,
        "search": {"beam": search.beam, "alpha": search.alpha, "max_extra": search.max_extra},
        "chosen": chosen,
        "dev": dev,
        "test": score_trees(pairs).to_tree(),
        "test_unlabelled": score_trees(pairs, labelled=False).to_tree(),
        "by_length": [counts_of(each) for each in score_by_length(pairs)],
        "right_branching": score_trees(baseline).to_tree(),
        "right_branching_unlabelled": score_trees(baseline, labelled=False).to_tree(),
        "right_branching_by_length": [counts_of(each) for each in score_by_length(baseline)],
    }


def counts_of(each: LengthScore) -> dict[str, Any]:
    return {"first": each.first, "last": each.last, "f1": round(each.score.f1, 2), "counts": each.score.counts}


def write_text(config: Config, treebank: Treebank, folder: Path) -> Config:
    """Write the parts of a treebank to files, unless they are there; return the settings with these files."""
    corpora: dict[str, Any] = {}
    for part in ("train", "dev", "test"):
        path = folder / f"{part}.trees"
        trees = getattr(treebank, part)
        if not path.exists() or path.read_text(encoding="utf-8") != as_text(trees):
            write_trees(path, trees)
        corpora[part] = (CorpusConfig(str(path), name=part),)
    return replace(config, data=replace(config.data, **corpora))


def as_text(trees: Iterable[Tree]) -> str:
    return "".join(f"{format_tree(tree)}\n" for tree in trees)


def write_trees(path: Path, trees: Iterable[Tree]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_text(trees), encoding="utf-8")


def parse_trees(bundle: Path, gold: Sequence[Tree], device: str, **search: Any) -> list[TreePair]:
    """Parse the words of gold trees."""
    loaded = Loaded(bundle, "torch", device)
    try:
        found = [parsed.tree for parsed in Parser(loaded, **search).parse(tree.words() for tree in gold)]
    finally:
        loaded.close()
    return list(zip(gold, found, strict=True))
