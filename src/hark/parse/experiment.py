"""The parsing experiment of the paper (section 6.3, table 4): train on a treebank, parse its test set, score.

Every stage is skipped if its result is there, so that an interrupted experiment continues when it is called again.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hark import configfile
from hark.bundle import is_bundle
from hark.config import Config, CorpusConfig
from hark.data.prepare import prepare
from hark.decode.load import Loaded
from hark.errors import HarkError, UserError
from hark.parse.baseline import RightBranching
from hark.parse.length_curve import draw_curve
from hark.parse.parser import Parser
from hark.parse.score import BracketScore, LengthScore, TreePair, score_by_length, score_trees
from hark.parse.treebank import Treebank, read_treebank
from hark.recipes import find_recipe
from hark.rundir import RunDir
from hark.text.trees import Tree, format_tree
from hark.train.export import average_run
from hark.train.metrics import read_metrics
from hark.train.session import Observe, run_training
from hark.train.start import open_dataset, resolve, run_config

PAPER: tuple[tuple[str, str, float], ...] = (
    ("Vinyals & Kaiser et al. (2014)", "WSJ only", 88.3),
    ("Petrov et al. (2006)", "WSJ only", 90.4),
    ("Zhu et al. (2013)", "WSJ only", 90.4),
    ("Dyer et al. (2016)", "WSJ only", 91.7),
    ("Transformer (4 layers)", "WSJ only", 91.3),
    ("Zhu et al. (2013)", "semi-supervised", 91.3),
    ("Huang & Harper (2009)", "semi-supervised", 91.3),
    ("McClosky et al. (2006)", "semi-supervised", 92.1),
    ("Vinyals & Kaiser et al. (2014)", "semi-supervised", 92.1),
    ("Transformer (4 layers)", "semi-supervised", 92.7),
    ("Luong et al. (2015)", "multi-task", 93.0),
    ("Dyer et al. (2016)", "generative", 93.3),
)
"""The paper's table 4: parser, training and F1 on section 23 of the WSJ treebank."""
PUBLIC = ("benepar_en3_wsj (Kitaev et al., 2019; BERT-large)", "WSJ only, pre-trained encoder", 95.55)
"""What a public parser reports on the paper's test set, in the README of github.com/nikitakit/self-attentive-parser."""


@dataclass(frozen=True)
class ParsingResult:
    """The scores of one experiment."""

    treebank: Treebank
    recipe: str
    config: Config
    parameters: int
    seconds: float
    """Of training."""
    device: str
    weights: str
    """The weights with the better F1 on the dev set: `best` (by dev loss) or `average` (of the last checkpoints)."""
    dev: Mapping[str, BracketScore]
    """By weights."""
    pairs: Sequence[TreePair]
    """The gold trees of the test set and the predicted ones."""
    baseline: Sequence[TreePair]

    @cached_property
    def test(self) -> BracketScore:
        return score_trees(self.pairs)

    @cached_property
    def by_length(self) -> list[LengthScore]:
        return score_by_length(self.pairs)

    @property
    def difference(self) -> str:
        """How the setting differs from the paper's."""
        model, train = self.config.model, self.config.train
        return (
            f"{self.treebank.what}: {len(self.treebank.train):,} training sentences (the paper: about 40,000 of the "
            f"WSJ treebank), {len(self.treebank.test):,} test sentences; {model.n_encoder_layers} layers of width "
            f"{model.d_model}, {self.parameters / 1e6:.1f}M parameters; {train.steps:,} steps in {self.seconds:.0f} s "
            f"on {self.device}"
        )

    def to_tree(self) -> dict[str, Any]:
        """The figures for JSON."""
        decode = self.config.decode
        return {
            "treebank": self.treebank.name,
            "sentences": {part: len(getattr(self.treebank, part)) for part in ("train", "dev", "test")},
            "recipe": self.recipe,
            "difference": self.difference,
            "parameters": self.parameters,
            "steps": self.config.train.steps,
            "train_seconds": round(self.seconds, 1),
            "device": self.device,
            "search": {"beam": decode.beam, "alpha": decode.alpha, "max_extra": decode.max_extra},
            "conventions": "evalb, COLLINS.prm; tags of the gold trees",
            "weights": self.weights,
            "dev": {name: score.to_tree() for name, score in self.dev.items()},
            "test": self.test.to_tree(),
            "test_unlabelled": score_trees(self.pairs, labelled=False).to_tree(),
            "right_branching": score_trees(self.baseline).to_tree(),
            "right_branching_unlabelled": score_trees(self.baseline, labelled=False).to_tree(),
            "by_length": [{"first": each.first, "last": each.last, **each.score.to_tree()} for each in self.by_length],
        }

    def table(self) -> str:
        """Paper beside ours, as a Markdown table."""
        section = "WSJ section 23"
        rows = [(*row[:2], section, f"{row[2]:.1f}") for row in PAPER]
        rows.append((*PUBLIC[:2], section, f"{PUBLIC[2]:.2f}"))
        ours = f"{self.treebank.name} test"
        baseline = score_trees(self.baseline)
        rows.append(("right-branching", "none", ours, f"{baseline.f1:.2f}"))
        rows.append((f"**hark**, recipe `{self.recipe}`", self.difference, ours, f"**{self.test.f1:.2f}**"))
        head = ("parser", "training", "test set", "F1")
        lines = ["| " + " | ".join(row) + " |" for row in (head, ("---",) * 4, *rows)]
        return "\n".join(lines) + "\n"

    def curve(self) -> str:
        """F1 by sentence length, as SVG."""
        title = f"F1 by sentence length, {self.treebank.name}"
        return draw_curve({"hark": self.by_length, "right-branching": score_by_length(self.baseline)}, title)


def run_parsing(
    treebank: Treebank,
    folder: Path,
    recipe: str = "parse",
    overrides: Sequence[str] = (),
    device: str = "auto",
    observe: Observe | None = None,
) -> ParsingResult:
    """Train a parser on a treebank, parse its test set and write `result.json`, `table.md` and `curve.svg`.

    All files go to the folder. The weights are chosen by F1 on the dev set. `overrides` are settings of the recipe.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = write_text(configfile.load(find_recipe(recipe), [*overrides, f"train.device={device}"]), treebank, folder)
    run = RunDir(folder / "run")
    config = train_parser(config, folder / "dataset", run, observe)
    weights = {"best": run.best, "average": average_parser(run, config, folder / "average")}
    parsers = {name: Loaded(path, "torch", device) for name, path in weights.items()}
    dev = {
        name: score_trees(parse_trees(loaded, treebank.dev, folder / f"dev.{name}.trees"))
        for name, loaded in parsers.items()
    }
    chosen = max(dev, key=lambda name: dev[name].f1)
    loaded = parsers[chosen]
    branching = RightBranching.learn(treebank.train)
    history = read_metrics(run.metrics)
    result = ParsingResult(
        treebank,
        recipe,
        config,
        loaded.facts.making.parameters or 0 if loaded.facts.making else 0,
        history.last.seconds if history.last else 0.0,
        history.start.device if history.start else device,
        chosen,
        dev,
        parse_trees(loaded, treebank.test, folder / "test.trees"),
        [(tree, branching.build(tree.leaves())) for tree in treebank.test],
    )
    for each in parsers.values():
        each.close()
    (folder / "result.json").write_text(json.dumps(result.to_tree(), indent=1) + "\n", encoding="utf-8")
    (folder / "table.md").write_text(result.table(), encoding="utf-8")
    (folder / "curve.svg").write_text(result.curve(), encoding="utf-8")
    return result


def write_text(config: Config, treebank: Treebank, folder: Path) -> Config:
    """Write the parts of a treebank to files, unless they are there; return the settings with these files."""
    corpora: dict[str, Any] = {}
    for part in ("train", "dev", "test"):
        path = folder / "treebank" / f"{part}.trees"
        path.parent.mkdir(exist_ok=True)
        content = "".join(f"{format_tree(tree)}\n" for tree in getattr(treebank, part))
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            path.write_text(content, encoding="utf-8")
        corpora[part] = (CorpusConfig(str(path), name=part),)
    return replace(config, data=replace(config.data, **corpora))


def train_parser(config: Config, dataset: Path, run: RunDir, observe: Observe | None) -> Config:
    """Prepare the dataset and train, or resume, until the last step; return the settings of the run."""
    prepare(config, dataset)
    config = replace(config, data=replace(config.data, dataset=str(dataset.resolve())))
    opened = open_dataset(config.data)
    config = resolve(config, opened)
    resumed = run.exists and run.saved > 0
    if resumed and configfile.dump(run_config(run, (), ())) != configfile.dump(config):
        raise UserError(f"{run.path}: run exists with other settings; choose another folder, or remove it")
    if resumed and run.saved_steps[-1] >= config.train.steps:
        return config
    if run_training(config, run, opened, resumed, observe=observe):
        raise HarkError(f"{run.path}: interrupted; run the same command again to continue")
    return config


def average_parser(run: RunDir, config: Config, folder: Path) -> Path:
    """Average the last checkpoints, unless that was done; return the model."""
    if not is_bundle(folder):
        average_run(run, min(config.train.average_last, run.saved), folder, force=True)
    return folder


def parse_trees(loaded: Loaded, gold: Sequence[Tree], path: Path) -> list[TreePair]:
    """Parse the words of gold trees, unless the file holds the results already."""
    if not path.exists():
        found = (parsed.tree for parsed in Parser(loaded).parse(tree.words() for tree in gold))
        write_trees(path, found)
    parsed = read_treebank(path)
    if [tree.words() for tree in parsed] != [tree.words() for tree in gold]:
        raise UserError(f"{path}: has other sentences; remove it and try again")
    return list(zip(gold, parsed, strict=True))


def write_trees(path: Path, trees: Iterable[Tree]) -> None:
    partial = path.with_suffix(".partial")
    with partial.open("w", encoding="utf-8") as file:
        for tree in trees:
            file.write(f"{format_tree(tree)}\n")
    partial.replace(path)
