"""`hark parse`: parse sentences into constituency trees."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hark.cli import options
from hark.cli.options import argument, option, switch
from hark.cli.streams import STDOUT, check_new_file, write_text
from hark.errors import UserError, require

if TYPE_CHECKING:
    from hark.parse.parser import Parser

EXAMPLES = (
    'hark parse -m runs/parse-small "The cat sat on the mat."',
    'hark parse -m runs/parse-small "The cat sat on the mat." -o tree.svg',
    "hark parse -m runs/parse-small --words --json sentences.txt",
    "hark parse -m runs/parse-small --evaluate gum-test.trees.xz -o lengths.svg",
)


def parse(
    words: Annotated[
        list[str] | None, argument("[TEXT|FILE|-]", "Text, or a file of text; - or nothing for stdin.")
    ] = None,
    model: options.Model = None,
    output: Annotated[
        Path | None,
        option(
            "-o --output",
            "FILE",
            "Also draw the trees (.svg), or with --evaluate, F1 by sentence length; - for stdout, instead of brackets.",
        ),
    ] = None,
    as_json: Annotated[bool, switch("--json", "Print a JSON object per sentence.")] = False,
    ready: Annotated[bool, switch("--words", "Each line is one sentence, already split into words by spaces.")] = False,
    evaluate: Annotated[
        Path | None, option("--evaluate", "FILE", "Parse the sentences of a treebank, and print labelled F1.")
    ] = None,
    beam: Annotated[int | None, option("--beam", "N", "Beam size.", min=1)] = None,
    search: options.Search = None,
    errors: options.Errors = "strict",
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Parse English sentences into constituency trees.

    Prints a tree in brackets per sentence, over exactly its words. Part-of-speech tags are all XX if the model does
    not predict any. Scores follow evalb (COLLINS.prm): punctuation and the root do not count, ADVP equals PRT.
    """
    require("torch", "train", "hark parse")
    from hark.cli.streams import find_input, read_lines
    from hark.parse.parser import Parser
    from hark.translate.load import Loaded

    if output == STDOUT and as_json:
        raise UserError("-o - and --json both write to stdout; name a file for the picture")
    check_new_file(None if output == STDOUT else output, "SVG")
    source = find_input(words or [], "parse")
    if evaluate is not None and (source is not None or ready):
        raise UserError("--evaluate takes its sentences from the treebank; leave out the text and --words")
    loaded = Loaded(find_parser(model), "torch", device, threads=threads)
    parser = Parser(loaded, **options.search_changes(search or [], beam, 1))
    if evaluate is not None:
        score_treebank(parser, evaluate, output, as_json)
    else:
        language = loaded.facts.pairs[0][0]
        lines = read_lines(source, errors, "parse")
        print_trees(parser, sentences_in(lines, ready, language), output, as_json)


def find_parser(model: str | None) -> Path:
    """The folder of the named model, or of the first installed parser."""
    from hark.models import list_models, named_folder
    from hark.text.trees import TREES

    if model is not None:
        return named_folder(model)
    for each in list_models():
        if any(pair[1] == TREES for pair in each.pairs):
            return each.folder
    raise UserError("no parser installed; train one with the recipe parse-small, and name it with -m")


def sentences_in(lines: Iterable[str], ready: bool, language: str) -> Iterator[list[str]]:
    """The words of each sentence. If the lines are `ready`, each is a sentence of words separated by spaces."""
    from hark.parse.parser import split_words
    from hark.text.segments import split_sentences

    for line in lines:
        sentences = [line.split()] if ready else [split_words(each) for each in split_sentences(line.strip(), language)]
        yield from filter(None, sentences)


def print_trees(parser: "Parser", sentences: Iterable[list[str]], output: Path | None, as_json: bool) -> None:
    from hark.parse.drawing import draw_trees
    from hark.text.trees import format_tree

    drawn = []
    for parsed in parser.parse(sentences):
        tree = format_tree(parsed.tree)
        if as_json:
            line: dict[str, Any] = {"words": parsed.tree.words(), "tree": tree, "score": round(parsed.score, 4)}
            sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
        elif output != STDOUT:
            sys.stdout.write(tree + "\n")
        if output is not None:
            drawn.append(parsed.tree)
    if output is not None and drawn:
        write_text(output, draw_trees(drawn))


def score_treebank(parser: "Parser", path: Path, output: Path | None, as_json: bool) -> None:
    from hark.parse.score import draw_curve, length_table, score_by_length, score_trees
    from hark.parse.treebank import read_treebank

    gold = read_treebank(path)
    pairs = list(zip(gold, (each.tree for each in parser.parse(tree.words() for tree in gold)), strict=True))
    score, by_length = score_trees(pairs), score_by_length(pairs)
    if output is not None:
        write_text(output, draw_curve({path.name: by_length}))
    if as_json:
        lengths = [{"first": each.first, "last": each.last, **each.score.to_tree()} for each in by_length]
        sys.stdout.write(json.dumps({**score.to_tree(), "by_length": lengths}, indent=1) + "\n")
    elif output != STDOUT:
        tags = "" if score.tag_accuracy is None else f", tags {score.tag_accuracy:.2f}"
        lines = [
            f"F1 {score.f1:.2f}, precision {score.precision:.2f}, recall {score.recall:.2f}, complete match "
            f"{score.complete_match:.2f}{tags} on {score.sentences:,} sentences (evalb, COLLINS.prm)",
            *length_table(by_length),
        ]
        sys.stdout.write("\n".join(lines) + "\n")
