"""Lines from a pipe: complete and in order, however they are chunked."""

import os
from pathlib import Path

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
