"""`hark generate`: continue text with a language model."""

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from hark.cli import options
from hark.cli.options import argument, option, switch
from hark.errors import UserError, require

if TYPE_CHECKING:
    from hark.tasks.generate import Generator

EXAMPLES = (
    'hark generate "Once upon a time"',
    'hark generate -m t5-small "translate English to German: The house is old."',
    'hark generate -m runs/gpt "To be, or" --n 3 --temperature 1 --top-k 50',
    "hark generate -m runs/gpt prompts.txt --greedy --max-tokens 40 --json",
)


def generate(
    words: Annotated[
        list[str] | None,
        argument("[TEXT|FILE|-]", "Text, or a file with a prompt on each line; - or nothing for stdin."),
    ] = None,
    model: options.Model = None,
    max_tokens: Annotated[int, option("--max-tokens", "N", "Generate at most this many tokens.", min=1)] = 256,
    temperature: Annotated[
        float | None,
        option(
            "--temperature",
            "NUMBER",
            "Below 1 favours likely tokens; by default 0.8, or 0 for models such as T5.",
            min=0,
        ),
    ] = None,
    top_k: Annotated[int, option("--top-k", "N", "Draw from the N likeliest tokens; 0: from all.", min=0)] = 0,
    top_p: Annotated[
        float, option("--top-p", "NUMBER", "Draw from the likeliest tokens with this total probability.")
    ] = 0.95,
    min_p: Annotated[
        float, option("--min-p", "NUMBER", "Draw from tokens with this share of the likeliest one's probability.")
    ] = 0.0,
    greedy: Annotated[bool, switch("--greedy", "Always take the likeliest token.")] = False,
    beam: Annotated[int, option("--beam", "N", "Search N hypotheses for the likeliest text.", min=1)] = 1,
    stop: Annotated[list[str] | None, option("--stop", "TEXT", "End before this text. Repeatable.")] = None,
    seed: Annotated[int | None, option("--seed", "N", "The same seed gives the same text.", min=0)] = None,
    n: Annotated[int, option("--n", "N", "Generate N texts for each prompt.", min=1)] = 1,
    stream: Annotated[
        bool | None, switch("--stream/--no-stream", "Print text as it is generated; default on a terminal.")
    ] = None,
    as_json: Annotated[bool, switch("--json", "Print a JSON object per text, with why it ended.")] = False,
    errors: options.Errors = "strict",
    device: options.Device = "auto",
    precision: Annotated[
        Literal["auto", "float32", "bfloat16"],
        option("--precision", "TYPE", "auto (float32 on a CPU, bfloat16 on a GPU), float32 or bfloat16."),
    ] = "auto",
    threads: options.Threads = None,
) -> None:
    """Continue text with a model, or make another text of it.

    A decoder such as GPT-2 continues text; a text-to-text model such as T5 makes another. Prints what
    follows each prompt, or becomes of it. The text of the command line is one prompt; of a file or stdin, each line
    is one, and all of them run together.
    """
    require("torch", "train", "hark generate")
    from hark.cli.streams import find_input, read_lines
    from hark.tasks.generate import GenerateOptions, Generator

    if stream and (as_json or n > 1):
        raise UserError("--stream prints one text at a time; leave out --json and --n")
    if greedy and temperature:
        raise UserError("--greedy and --temperature exclude each other: greedy is temperature 0")
    if beam > 1:
        drawn = {"--temperature": temperature, "--top-k": top_k, "--min-p": min_p, "--seed": seed}
        for option, value in drawn.items():
            if value:
                raise UserError(f"--beam searches for the likeliest text and draws nothing; leave out {option}")
    text = find_input(words or [], "continue")
    settings: dict[str, Any] = {
        "max_tokens": max_tokens, "top_k": top_k, "top_p": top_p, "min_p": min_p, "stop": tuple(stop or ()),
        "seed": seed, "beam": beam,
    }  # fmt: skip
    if greedy or temperature is not None:
        settings["temperature"] = 0.0 if greedy else temperature
    for each in GenerateOptions(**settings).samples(n):  # before the slow part
        each.check()
        each.search()
    generator = Generator(find_generator(model), device, precision, threads)
    lines = [text] if isinstance(text, str) else read_lines(text, errors, "continue")
    prompts = (line.removesuffix("\n").removesuffix("\r") for line in lines)
    if stream or (stream is None and sys.stdout.isatty() and not as_json and n == 1):
        for prompt in prompts:
            for piece in generator.stream(prompt, **settings):
                print_piece(piece)
            print_piece("\n")
    else:
        print_texts(generator, prompts, n, settings, as_json)


def find_generator(model: str | None) -> Path:
    """The folder of the named model, or of the first installed one that continues text."""
    from hark.models import find_shape, named_folder

    folder = find_shape("decoder", "encoder-decoder") if model is None else named_folder(model)
    if folder is None:
        raise UserError("no model that continues text; name one with -m, or get one with hark models get gpt2")
    return folder


def print_piece(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def print_texts(
    generator: "Generator", prompts: Iterable[str], n: int, settings: dict[str, Any], as_json: bool
) -> None:
    given: list[str] = []

    def noted() -> Iterable[str]:
        for prompt in prompts:
            given.append(prompt)
            yield prompt

    for number, texts in enumerate(generator.generate(noted(), n, **settings)):
        for each in texts:
            line = json.dumps({"prompt": given[number], **asdict(each)}, ensure_ascii=False) if as_json else each.text
            print_piece(line + "\n")
