"""`hark fill`: fill gaps in text."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import tee
from typing import Annotated

from hark.cli import options
from hark.cli.options import argument, option, switch
from hark.errors import require

EXAMPLES = (
    'hark fill -m bert-base-uncased "The capital of [MASK] is Berlin."',
    "hark fill -m roberta-base --top 3 --json sentences.txt",
)


def fill(
    words: Annotated[
        list[str] | None, argument("[TEXT|FILE|-]", "Text, or a file of lines; - or nothing for stdin.")
    ] = None,
    model: options.Model = None,
    top: Annotated[int, option("--top", "N", "Fillers of each gap.", min=1)] = 5,
    as_json: Annotated[bool, switch("--json", "Print a JSON object per line.")] = False,
    errors: options.Errors = "strict",
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Fill gaps in text with the likeliest words.

    A gap is the mask of the model: [MASK] for BERT, <mask> for RoBERTa. Prints what the model expects there, each
    filler with its probability and the text that has it. Each of several gaps in a line is filled by itself.
    """
    require("torch", "train", "hark fill")
    from hark.cli.streams import find_input, read_lines
    from hark.tasks.encoder import LoadedEncoder, find_encoder
    from hark.tasks.fill import GapFiller

    shown, read = tee(without_blanks(read_lines(find_input(words or [], "read"), errors, "read")))
    filler = GapFiller(LoadedEncoder(find_encoder(model, "fill"), device, threads), top)
    for line, gaps in zip(shown, filler.fill(read), strict=True):
        if as_json:
            tree = {"text": line, "gaps": [[asdict(each) for each in gap] for gap in gaps]}
            sys.stdout.write(json.dumps(tree, ensure_ascii=False) + "\n")
            continue
        for gap in gaps:
            texts = [one_line(each.text) for each in gap]
            width = max(map(len, texts))
            for text, each in zip(texts, gap, strict=True):
                sys.stdout.write(f"{each.probability:.4f}  {text.ljust(width)}  {one_line(each.filled)}\n")
            sys.stdout.write("\n")


def one_line(text: str) -> str:
    """A filler may be a line break: shown as a sign, so that a filler takes a line."""
    return text.replace("\n", "↵")


def without_blanks(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if text := line.strip():
            yield text
