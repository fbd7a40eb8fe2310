"""Table 4: constituency parsing, on treebanks that are at hand."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hark import configfile
from hark.config import Config, CorpusConfig
from hark.data.prepare import prepare
from hark.errors import UserError
from hark.parse.parser import Parser
from hark.parse.score import BracketScore, LengthScore, TreePair, draw_curve, score_by_length, score_trees
from hark.parse.treebank import GUM, WSJ, WSJ_SAMPLE, RightBranching, Treebank, open_treebank
from hark.recipes import find_recipe
from hark.reproduce.cost import Cost, training_cost
from hark.reproduce.published import PUBLIC_PARSER, TABLE_4, differences, millions, number, table
from hark.reproduce.scales import Scale
from hark.reproduce.trial import Advance, Trial, read_cost, train_trial
from hark.reproduce.work import Report, Row, Rows, Target, TargetPart, Work
from hark.text.trees import Tree, format_tree
from hark.train.bad_steps import DivergedError
from hark.train.export import average_run
from hark.translate.load import Loaded

PAPER_RECIPE, SMALL_RECIPE = "parse", "parse-small"
FOLDER = "trees"
"""Where treebanks are in a folder of corpora."""
CHECKPOINTS, AVERAGED = 10, 3
"""Of a run; fewer than for translation, because writing them takes as long as training on so little text."""
SMALL_BEAM = 4
"""At smaller scales than the paper's: with a beam of 21, two cores parse for longer than they train."""
PARSING_SECONDS = 30.0
"""For the dev and the test set."""
TRAINING = 0.8


def treebanks_of(scale: Scale) -> tuple[str, ...]:
    """The paper's treebank is not free; smaller scales have two that are."""
    return (WSJ,) if scale.name == "full" else (GUM, WSJ_SAMPLE)


def open_treebanks(scale: Scale, data: Path | None) -> dict[str, Treebank]:
    """The treebanks for a scale, in a folder or its subfolder `trees`."""
    if data is None:
        files = "wsj-train.trees, ..." if scale.name == "full" else "gum-train.trees.xz, ... and wsj_sample.trees.xz"
        raise UserError(f"table4 requires --data FOLDER, with {files} (see docs/parsing.md)")
    if not data.is_dir():
        raise UserError(f"--data {data}: no such folder")
    folder = data / FOLDER if (data / FOLDER).is_dir() else data
    return {name: shorten(open_treebank(name, folder), scale.sentences) for name in treebanks_of(scale)}


def shorten(treebank: Treebank, sentences: int | None) -> Treebank:
    return replace(treebank, dev=treebank.dev[:sentences], test=treebank.test[:sentences])


def parser_config(recipe: str, treebank: str, scale: Scale, steps: int | None) -> Config:
    """The recipe, cut to the scale's steps, with the same peak rate."""
    config = configfile.load(find_recipe(recipe))
    steps = steps or scale.steps[f"table4 {treebank} {recipe}"]
    warmup = min(config.train.warmup_steps, max(1, steps // 4))
    train = replace(
        config.train,
        steps=steps,
        warmup_steps=warmup,
        rate_scale=config.train.rate_scale * (warmup / config.train.warmup_steps) ** 0.5,
        log_steps=max(1, steps // 50),
        eval_steps=max(1, steps // 10),
        save_steps=max(1, steps // CHECKPOINTS),
        save_minutes=1e6,
        keep_last=AVERAGED,
        average_last=AVERAGED,
    )
    config = replace(config, train=train, decode=replace(config.decode, **scale.search))
    if scale.widths == 1:
        return config
    batches = replace(config.batches, batch_tokens=scale.batch_tokens, max_length=scale.batch_tokens // 4)
    data = replace(config.data, vocab_size=scale.vocab_size)
    decode = replace(config.decode, beam=min(config.decode.beam, SMALL_BEAM))
    return replace(config, model=scale.shrink(config.model), batches=batches, data=data, decode=decode)


def parts(scale: Scale, steps: int | None) -> list[TargetPart]:
    recipes = (PAPER_RECIPE, SMALL_RECIPE) if scale.name == "medium" else (PAPER_RECIPE,)
    return [parser_part(recipe, name, scale, steps) for name in treebanks_of(scale) for recipe in recipes]


def parser_part(recipe: str, treebank: str, scale: Scale, steps: int | None) -> TargetPart:
    config = parser_config(recipe, treebank, scale, steps)
    name = f"{treebank}-{recipe}"

    def measure(work: Work, advance: Advance) -> Row:
        try:
            row = run_parsing(config, work.trees[treebank], name, work, advance)
        except DivergedError as error:
            row = {"failed": str(error), "steps": config.train.steps, "treebank": treebank}
        return {"recipe": recipe, **row}

    cost = training_cost(config) + Cost(seconds=PARSING_SECONDS if scale.widths == 1 else 0.0)
    return TargetPart(name, f"{treebank}, recipe {recipe}", cost, configfile.dump(config), measure)


def report(work: Work, rows: Rows) -> Report:
    section = "WSJ section 23"
    lines = [[each.name, each.training, section, number(each.f1)] for each in TABLE_4]
    lines.append([PUBLIC_PARSER.name, PUBLIC_PARSER.training, section, number(PUBLIC_PARSER.f1, 2)])
    pictures: dict[str, str] = {}
    for treebank in work.trees:
        ours = [row for row in rows.values() if row["treebank"] == treebank]
        scored = [row for row in ours if "failed" not in row]
        if scored:
            lines.append(["right-branching", "none", f"{treebank} test", number(scored[0]["right_branching"]["f1"], 2)])
            pictures[f"table4-{treebank}"] = draw(treebank, scored)
        lines += [our_line(row) for row in ours]
    detail = [detail_line(row) for row in rows.values() if "failed" not in row]
    head = [
        "treebank",
        "recipe",
        "F1",
        "precision",
        "recall",
        "complete",
        "unlabelled F1",
        "tags",
        "weights (dev F1)",
        "training",
    ]
    markdown = (
        f"# Table 4, {work.scale.name}\n\n{table(['parser', 'training', 'test set', 'F1'], lines)}\n"
        "Labelled F1 by the conventions of evalb (COLLINS.prm); the gold tags decide what is punctuation. Tags: the "
        "share that is right. In full:\n\n"
        f"{table(head, detail)}\n"
        + "".join(f"![F1 by sentence length]({name}.svg)\n\n" for name in pictures)
        + differences(notes(work, rows))
    )
    return Report(markdown, pictures)


def our_line(row: Row) -> list[str]:
    title = f"**Hark**, recipe `{row['recipe']}`"
    if "failed" in row:
        return [title, f"{row['steps']:,} steps", f"{row['treebank']} test", "diverged"]
    setting = (
        f"{row['sentences']['train']:,} sentences; {row['layers']} layers of width {row['width']}, "
        f"{millions(row['weights'])}M weights; {row['steps']:,} steps"
    )
    return [title, setting, f"{row['treebank']} test", f"**{row['test']['f1']:.2f}**"]


def detail_line(row: Row) -> list[str]:
    test, chosen = row["test"], row["chosen"]
    scores = [test[name] for name in ("f1", "precision", "recall", "complete_match")]
    scores += [row["test_unlabelled"]["f1"], test.get("tag_accuracy")]
    return [
        row["treebank"],
        row["recipe"],
        *(number(each, 2) for each in scores),
        f"{chosen} ({number(row['dev'][chosen]['f1'], 2)})",
        f"{row['seconds']:.0f} s, {row['device']}",
    ]


def notes(work: Work, rows: Rows) -> Sequence[str]:
    found = [f"{name}: {each.what}; {len(each.test):,} test sentences" for name, each in work.trees.items()]
    if WSJ not in work.trees:
        found.append("training text: a fraction of the paper's 40,000 sentences (WSJ) or 17 million (semi-supervised)")
    searches = {
        f"beam {row['search']['beam']}, length penalty {row['search']['alpha']} ({row['recipe']})"
        for row in rows.values()
        if "search" in row
    }
    found.append(f"search: {', '.join(sorted(searches))}; every output is a tree, by constraint")
    found.append("weights: the best checkpoint by dev loss or an average of the last, whichever has the better dev F1")
    return found


def draw(treebank: str, rows: Sequence[Row]) -> str:
    curves = {f"Hark, recipe {row['recipe']}": lengths(row["by_length"]) for row in rows}
    curves["right-branching"] = lengths(rows[0]["right_branching_by_length"])
    return draw_curve(curves, f"F1 by sentence length, {treebank}")


def lengths(scores: Sequence[Mapping[str, Any]]) -> list[LengthScore]:
    return [LengthScore(each["first"], each["last"], BracketScore(*each["counts"])) for each in scores]


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


TARGET = Target("table4", "constituency parsing", parts, report, needs="trees")
