"""Lines from a pipe: complete and in order, however they are chunked."""

import os

import pytest

from hark.cli import streams
from hark.cli.streams import ArrivingLines


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
