"""Printing of translations as text, n-best columns or JSON."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from hark.translate.translation import Alternative, Translation

MAX_WARNINGS = 10
"""Doubtful lines to print reasons for; the rest are counted."""
FLUSH_SECONDS = 0.1
"""Seconds between flushes, unless every line is flushed."""


def write(
    results: "Iterable[Translation]",
    out: BinaryIO,
    advance: Callable[[str], None],
    nbest: int,
    as_json: bool,
    align: bool,
    at_once: bool,
) -> int:
    """Print each translation when it is ready, and warnings on stderr. Return the number of doubtful translations."""
    doubtful, flushed, line = 0, 0.0, 1
    for number, result in enumerate(results, start=1):
        if as_json:
            text = json_line(result, nbest, align)
        elif nbest > 1:
            text = "".join(columns(number, result))
        else:
            text = result.text
        out.write(text.encode("utf-8", "replace"))
        if at_once or time.monotonic() - flushed > FLUSH_SECONDS:
            out.flush()
            flushed = time.monotonic()
        advance(result.source)
        lines = max(1, result.source.count("\n") + (not result.source.endswith("\n")))
        if result.doubtful:
            doubtful += 1
            if not as_json and doubtful <= MAX_WARNINGS:
                warn(result, line, lines)
        line += lines
    out.flush()
    if doubtful > MAX_WARNINGS and not as_json:
        sys.stderr.write(f"{doubtful - MAX_WARNINGS:,} more doubtful lines; --json lists the reasons for each\n")
    return doubtful


def warn(result: "Translation", line: int, lines: int) -> None:
    """Print a warning such as `line 3: a number changed (120 -> 1)`."""
    where = f"line {line}" if lines == 1 else f"lines {line}-{line + lines - 1}"
    sys.stderr.write(f"{where}: {'; '.join(map(str, result.reasons))}\n")


def json_line(result: "Translation", nbest: int, align: bool) -> str:
    warnings = [{"flag": reason.flag, "detail": reason.detail, "message": str(reason)} for reason in result.reasons]
    line: dict[str, Any] = {
        "source": without_end(result.source),
        "text": without_end(result.text),
        "score": rounded(result.score),
        "flags": result.flags,
        "warnings": warnings,
    }
    if nbest > 1:
        line["nbest"] = [{"text": without_end(each.text), "score": rounded(each.score)} for each in ranked(result)]
    if align:
        line["alignment"] = [asdict(link) for link in result.links]
    return json.dumps(line, ensure_ascii=False) + "\n"


def columns(number: int, result: "Translation") -> Iterator[str]:
    """The n-best list of an input line: line number, score and text in columns."""
    for each in ranked(result):
        score = "-" if each.score is None else f"{each.score:.4f}"
        yield f"{number}\t{score}\t{without_end(each.text)}\n"


def ranked(result: "Translation") -> "list[Translation | Alternative]":
    return [result, *result.alternatives]


def without_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)
