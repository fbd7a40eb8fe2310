"""Lines from a pipe: complete and in order, however they are chunked."""

import os
from itertools import chain, repeat
from pathlib import Path

import pytest

from hark import userfiles
from hark.cli import streams
from hark.cli.streams import ArrivingLines, Errors, file_lines, read_content
from hark.errors import UserError


@pytest.mark.parametrize("chunk", [1, 3, 7, 100])
@pytest.mark.parametrize("text", [b"", b"\n", b"one\ntwo\n\nthree", b"a line without an end", b"long " * 30 + b"\nx\n"])
def test_lines_do_not_depend_on_chunk_boundaries(text: bytes, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "CHUNK", chunk)
    reader, writer = os.pipe()
    os.write(writer, text)
    os.close(writer)
    lines = list(ArrivingLines(reader, "strict"))
    os.close(reader)
    assert lines == text.decode().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("errors", "byte", "message"),
    [
        ("strict", b"a", "line 3 is longer than 1 MiB; is this text?"),
        ("strict", b"\0", "line 3 is binary, not text; name another file, or use --errors replace"),
        ("replace", b"\0", "line 3 is longer than 1 MiB; is this text?"),
    ],
)
def test_a_line_that_never_ends_is_refused(
    errors: Errors, byte: bytes, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`hark translate < /dev/zero` filled the memory. The lines before it are translated first."""
    for module in (streams, userfiles):
        monkeypatch.setattr(module, "MAX_LINE", 1 << 20)
    chunks = chain([b"one\ntwo\n"], repeat(byte * streams.CHUNK, 100))  # a bug ends, too
    monkeypatch.setattr(streams.os, "read", lambda *_: next(chunks))
    lines = ArrivingLines(0, errors)
    assert [next(lines), next(lines)] == ["one\n", "two\n"]
    with pytest.raises(UserError) as raised:
        next(lines)
    assert str(raised.value) == f"stdin: {message}"
    assert 100 - len(list(chunks)) == 17  # 16 make 1 MiB
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\n" + byte * (2 << 20))
    if byte != b"\0":  # that file may be in UTF-16
        with pytest.raises(UserError) as raised:
            list(file_lines(path, errors))
        assert str(raised.value) == f"{path}: {message}"


def test_waiting_for_a_line_ends_on_time_while_bytes_trickle_in(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    clock = iter(range(100))
    waits = []

    def trickle(readable: list[int], *rest: object) -> tuple[list[int], list[int], list[int]]:
        waits.append(rest[-1])
        os.write(writer, b".")
        return (readable if rest[-1] else []), [], []

    monkeypatch.setattr(streams, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(streams.select, "select", trickle)
    assert not ArrivingLines(reader, "strict").ready(wait=3.0)
    assert waits == [2.0, 1.0, 0.0]


def test_a_missing_file_that_the_body_reads_is_not_blamed_on_the_output(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), streams.writer(tmp_path / "out"):
        (tmp_path / "nothing").read_text()
    assert list(tmp_path.iterdir()) == []


def test_a_device_is_no_document() -> None:
    with pytest.raises(UserError, match=r"^/dev/zero: not a regular file$"):
        read_content(Path("/dev/zero"))
