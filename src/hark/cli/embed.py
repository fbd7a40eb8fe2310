"""`hark embed`: vectors of sentences."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from hark.cli import options
from hark.cli.options import argument, option, switch
from hark.errors import UserError, require

if TYPE_CHECKING:
    from hark.weights import Array

EXAMPLES = (
    'hark embed -m all-MiniLM-L6-v2 "A cat sits on the mat."',
    'hark embed --similarity "How old are you?" "What is your age?" "I am hungry."',
    "hark embed sentences.txt -o vectors.npy",
)
DIGITS = 7
"""Of a number in JSON: as many as float32 has, of values below 1."""


def embed(
    texts: Annotated[
        list[str] | None, argument("[TEXT|FILE|-]", "Texts, or a file of lines; - or nothing for stdin.")
    ] = None,
    model: options.Model = None,
    output: Annotated[
        Path | None, option("-o --output", "FILE", "Write an array (.npy) or lines of JSON; - for stdout.")
    ] = None,
    similarity: Annotated[
        bool, switch("--similarity", "Print the cosine of every two texts instead of vectors.")
    ] = False,
    truncate: options.Truncate = False,
    errors: options.Errors = "strict",
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Turn sentences into vectors.

    Their cosines say how similar the sentences are. Each argument is a text, and so is each line of a file, also a
    blank one. Prints a JSON object for each, with the text and its vector of length 1: the mean over its tokens, as
    sentence-transformers computes it.
    """
    require("torch", "train", "hark embed")
    from hark.cli.streams import shown_progress, writer
    from hark.tasks.embed import embed as vectors_of
    from hark.tasks.encoder import LoadedEncoder, find_encoder

    if similarity and output is not None:
        raise UserError("--similarity prints a table; leave out -o")
    source, lines = find_texts(texts or [], errors)
    encoder = LoadedEncoder(find_encoder(model), device, threads)
    shown, read = tee(lines)
    with shown_progress(source, output) as advance:
        rows = rows_of(zip(shown, vectors_of(encoder, read, truncate), strict=True), advance)
        if similarity:
            print_cosines(list(rows))
        elif output is not None and output.suffix == ".npy":
            import numpy as np

            array = np.array([vector for _, vector in rows], np.float32).reshape(-1, encoder.width)
            with writer(output) as file:
                np.save(file, array)
        else:
            with writer(output) as file:
                for text, vector in rows:
                    tree = {"text": text, "vector": [round(each, DIGITS) for each in vector.tolist()]}
                    file.write((json.dumps(tree, ensure_ascii=False) + "\n").encode())


def find_texts(words: list[str], errors: Literal["strict", "replace"]) -> tuple[Path | str | None, Iterable[str]]:
    """The input, and its texts: the arguments if there are several, else lines."""
    from hark.cli.streams import find_input, read_lines

    source = find_input(words, "read")
    if isinstance(source, str) and len(words) > 1:
        return source, words
    return source, (line.rstrip("\r\n") for line in read_lines(source, errors, "read"))


def rows_of(pairs: "Iterable[tuple[str, Array]]", advance: Callable[[str], None]) -> "Iterator[tuple[str, Array]]":
    for text, vector in pairs:
        advance(text)
        yield text, vector


def print_cosines(rows: "Sequence[tuple[str, Array]]") -> None:
    """Print a row for each text: its number, its cosine with each text, and the text."""
    width = max(len(str(len(rows))), 6)
    sys.stdout.write(" ".join(["".rjust(width), *(str(i).rjust(width) for i in range(1, len(rows) + 1))]) + "\n")
    for number, (text, vector) in enumerate(rows, 1):
        cosines = (f"{float(vector @ other):.3f}".rjust(width) for _, other in rows)
        sys.stdout.write(" ".join([str(number).rjust(width), *cosines, "", text]) + "\n")
