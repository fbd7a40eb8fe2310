"""How translations are written: as text, in columns, or as JSON."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from hark.decode.translation import Alternative, Translation

NAMED = 10
"""Doubtful lines that are named; the rest are counted."""
PAUSE = 0.1
"""Seconds after which what is printed goes out, where nobody waits for each line."""


def write(
    results: "Iterable[Translation]",
    out: BinaryIO,
    advance: Callable[[str], None],
    nbest: int,
    as_json: bool,
    align: bool,
    at_once: bool,
) -> None:
    """Print each translation when it is ready, and say in the end which are doubtful."""
    named: list[str] = []
    doubtful, flushed = 0, 0.0
    for number, result in enumerate(results, start=1):
        if as_json:
            text = json_line(result, nbest, align)
        elif nbest > 1:
            text = "".join(columns(number, result))
        else:
            text = result.text
        out.write(text.encode("utf-8", "replace"))
        if at_once or time.monotonic() - flushed > PAUSE:
            out.flush()
            flushed = time.monotonic()
        advance(result.source)
        if result.doubtful:
            doubtful += 1
            named += [f"{number} ({', '.join(result.doubtful)})"] if doubtful <= NAMED else []
    out.flush()
    if doubtful and not as_json:
        more = f" and {doubtful - NAMED} more" if doubtful > NAMED else ""
        sys.stderr.write(f"doubtful lines: {', '.join(named)}{more}; --json tells of each\n")


def json_line(result: "Translation", nbest: int, align: bool) -> str:
    line: dict[str, Any] = {
        "source": without_end(result.source),
        "text": without_end(result.text),
        "score": rounded(result.score),
        "flags": result.flags,
    }
    if nbest > 1:
        line["nbest"] = [{"text": without_end(each.text), "score": rounded(each.score)} for each in ranked(result)]
    if align:
        line["alignment"] = [asdict(link) for link in result.links]
    return json.dumps(line, ensure_ascii=False) + "\n"


def columns(number: int, result: "Translation") -> Iterator[str]:
    """The n best of a line: its number, the score, the text."""
    for each in ranked(result):
        score = "-" if each.score is None else f"{each.score:.4f}"
        yield f"{number}\t{score}\t{without_end(each.text)}\n"


def ranked(result: "Translation") -> "list[Translation | Alternative]":
    return [result, *result.alternatives]


def without_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)
