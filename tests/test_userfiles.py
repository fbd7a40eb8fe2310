"""Files that users name are read up to a bound, so that those that never end cannot fill the memory."""

import io
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from hark import configfile, userfiles
from hark.data.compression import ByteStream
from hark.documents.glossary import read_glossary_files
from hark.errors import UserError
from hark.text.phrases import read_phrases
from hark.userfiles import check_line, lines_in, read_bytes


class Zeros(io.RawIOBase):
    """A file without line ends that never ends, like /dev/zero."""

    taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self.taken += len(buffer)
        buffer[:] = bytes(len(buffer))
        return len(buffer)


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(userfiles, "MAX_LINE", 3 << 20)
    monkeypatch.setattr(userfiles, "MAX_FILE", 5 << 20)


@pytest.fixture
def endless() -> Iterator[Path]:
    """A pipe into which someone writes for as long as it is read, as with `<(yes)`."""
    reader, writer = os.pipe()

    def write() -> None:
        try:
            while True:
                os.write(writer, b"y\n" * 2000)
        except BrokenPipeError:
            os.close(writer)

    thread = Thread(target=write)
    thread.start()
    yield Path(f"/dev/fd/{reader}")
    os.close(reader)
    thread.join()


def test_a_line_without_an_end_is_read_up_to_the_bound() -> None:
    zeros = Zeros()
    line = next(lines_in(io.BufferedReader(zeros)))
    assert len(line) == userfiles.MAX_LINE + 1
    assert zeros.taken < 2 * userfiles.MAX_LINE
    with pytest.raises(UserError, match=r"^stdin: line 7 is longer than 3 MiB; is this text\?$"):
        check_line(line, 7, "stdin")


def test_the_longest_line_is_read(tmp_path: Path) -> None:
    lines = [b"a" * (userfiles.MAX_LINE - 1) + b"\n", b"b\n", b"\n", b"c"]
    assert list(lines_in(io.BytesIO(b"".join(lines)))) == lines
    for line in lines:
        check_line(line, 1, "file")
    path = tmp_path / "train.en"
    path.write_bytes(b"one\n" + b"a" * (userfiles.MAX_LINE + 1))
    with ByteStream(path) as stream, pytest.raises(UserError, match=r"train.en: line 2 is longer than 3 MiB"):
        list(stream.lines())


def test_a_device_is_refused_where_a_whole_file_is_read() -> None:
    with pytest.raises(UserError, match=r"^/dev/zero: not a regular file$"):
        read_bytes(Path("/dev/zero"))
    assert read_bytes(Path("/dev/null")) == b""


def test_a_pipe_is_read_up_to_the_bound(endless: Path) -> None:
    with pytest.raises(UserError, match=r"^/dev/fd/\d+: larger than 5 MiB; split it$"):
        read_bytes(endless)


def test_a_large_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"a" * userfiles.MAX_FILE)
    assert len(read_bytes(path)) == userfiles.MAX_FILE
    os.truncate(path, 100 << 30)  # sparse: takes no space
    with pytest.raises(UserError, match="large: larger than 5 MiB"):
        read_bytes(path)


def test_settings_glossaries_and_phrases_from_devices_are_refused(tmp_path: Path) -> None:
    zeros = tmp_path / "zeros.tsv"
    zeros.symlink_to("/dev/zero")
    with pytest.raises(UserError, match=r"zeros.tsv: not a regular file"):
        read_glossary_files(zeros, None)
    with pytest.raises(UserError, match=r"zeros.tsv: not a regular file"):
        read_glossary_files(None, zeros)
    with pytest.raises(UserError, match=r"zeros.tsv: not a regular file"):
        read_phrases(zeros)
    with pytest.raises(UserError, match=r"zeros.tsv: not a regular file"):
        configfile.load(zeros)
