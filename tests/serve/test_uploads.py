"""Uploaded files are private, bounded, and deleted in time; their names are never paths."""

import os
from pathlib import Path

import pytest

from hark.serve import uploads
from hark.serve.refusal import Refusal
from hark.serve.uploads import LIFETIME, Uploads, attachment, file_job, file_type, plain_name, translated_name


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def test_the_folder_is_private_and_names_are_random() -> None:
    store = Uploads()
    one, other = store.add(b"a", "../../etc/passwd.txt"), store.add(b"b", "same.txt")
    assert one.path.parent.stat().st_mode & 0o777 == 0o700
    assert one.path.name == one.id
    assert len(one.id) == 32
    assert one.id != other.id
    assert one.path.read_bytes() == b"a"
    folder = one.path.parent
    store.close()
    assert not folder.exists()


def test_files_are_deleted_after_an_hour() -> None:
    clock = Clock()
    store = Uploads(clock)
    old = store.add(b"a", "a.txt")
    clock.time += LIFETIME - 1
    new = store.add(b"b", "b.txt")
    assert store.find(old.id) == old
    clock.time += 1
    assert store.find(old.id) is None
    assert not old.path.exists()
    assert store.find(new.id) == new
    clock.time += LIFETIME
    store.expire()
    assert list(new.path.parent.iterdir()) == []
    store.close()


def test_a_removed_file_is_gone() -> None:
    store = Uploads()
    stored = store.add(b"a", "a.txt")
    store.remove(stored.id)
    store.remove(stored.id)  # twice is no error
    assert store.find(stored.id) is None
    assert not stored.path.exists()
    store.close()


@pytest.mark.parametrize("number", ["", ".", "..", "../x", "/etc/passwd", "x" * 32])
def test_an_unknown_id_is_nothing(number: str) -> None:
    store = Uploads()
    store.add(b"a", "a.txt")
    assert store.find(number) is None
    store.remove(number)
    store.close()


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "FILES", 2)
    monkeypatch.setattr(uploads, "BYTES", 10)
    store = Uploads()
    first = store.add(b"a" * 6, "a.txt")
    with pytest.raises(Refusal, match="too many files") as refused:
        store.add(b"b" * 5, "b.txt")
    assert refused.value.status == 503
    store.add(b"b" * 4, "b.txt")
    store.remove(first.id)
    store.add(b"c", "c.txt")
    with pytest.raises(Refusal):
        store.add(b"", "d.txt")
    store.close()


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("letter.txt", "letter.txt"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\a.md", "a.md"),
        ("a\r\nb\0.txt", "ab.txt"),
        ("\u202egpj.txt", "gpj.txt"),
        ('a".txt', "a.txt"),
        (".bashrc", "bashrc"),
        ("..", "file.txt"),
        ("", "file.txt"),
        ("x" * 200 + ".txt", "x" * 116 + ".txt"),
    ],
)
def test_plain_names(name: str, plain: str) -> None:
    assert plain_name(name) == plain
    assert os.path.basename(plain) == plain


def test_headers_of_a_download() -> None:
    assert attachment('ü "\r\n.txt')["content-disposition"] == (
        "attachment; filename=\"_ .txt\"; filename*=UTF-8''%C3%BC%20.txt"
    )


def test_types() -> None:
    assert file_type("A.TXT") == ".txt"
    assert translated_name("dir/letter.v2.md", "de") == "letter.v2_de.md"
    for name in ("a.exe", "a.txt.exe", "a.docx", "txt"):
        with pytest.raises(Refusal, match="not supported"):
            file_type(name)


def test_reading(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes("ä\r\n".encode())
    job, encoding = file_job(path, "en", "de")
    assert (job.texts, job.urgent, encoding) == (("ä\r\n",), False, "utf-8")
    path.write_bytes("ä".encode("utf-16"))
    assert file_job(path, None, "de")[0].texts == ("ä",)
    for content in (b"\xff", b"a\0", b"\xff\xfe\x00"):
        path.write_bytes(content)
        with pytest.raises(Refusal):
            file_job(path, None, "de")
