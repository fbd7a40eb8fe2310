"""The YAML of Marian's settings and vocabularies: flat keys, lists, and quoted strings. Not a YAML parser."""

import re
from collections.abc import Iterator

from hark.errors import UserError

Value = str | list[str]
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
ESCAPES |= {"N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}
ESCAPED = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)


def read_settings(text: str) -> dict[str, Value]:
    """Read keys with a value or a list; nested keys are skipped."""
    found: dict[str, Value] = {}
    key = ""
    for line in text.splitlines():
        bare = line.strip().rstrip("\0")
        if not bare or bare.startswith("#"):
            continue
        if bare.startswith("- ") and key:
            before = found[key]
            found[key] = [*(before if isinstance(before, list) else []), unquote(bare[2:].strip())]
        elif not line[0].isspace() and ":" in bare:
            key, _, value = bare.partition(":")
            value = value.strip()
            inline = [unquote(each.strip()) for each in value[1:-1].split(",") if each.strip()]
            found[key] = inline if value.startswith("[") and value.endswith("]") else unquote(value)
    return found


def read_pieces(text: str, where: object) -> dict[str, int]:
    """Read a vocabulary: a line `piece: id`, or `? piece` and `: id` on two lines, for each piece."""
    return dict(_pieces(text, where))


def _pieces(text: str, where: object) -> Iterator[tuple[str, int]]:
    pending: str | None = None
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not line.strip():
            continue
        if line.startswith("? "):
            pending = line[2:]
            continue
        piece, _, token = line.rpartition(":")
        if pending is not None:
            piece, pending = pending, None
        try:
            yield unquote(piece), int(token)
        except ValueError:
            raise UserError(f"{where}: line {number} is not a piece with its id") from None


def unquote(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == '"':
        return ESCAPED.sub(_unescape, text[1:-1])
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else ESCAPES.get(code, code)
