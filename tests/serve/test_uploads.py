"""Uploaded files are private, bounded, and deleted in time; their names are never paths."""

import os
from collections.abc import Iterator

import pytest

from hark.documents.translate import TranslatedDocument
from hark.serve import uploads
from hark.serve.bodies import Refusal
from hark.serve.uploads import (
    LIFETIME,
    Uploads,
    attachment,
    file_type,
    output_type,
    plain_name,
    read_file,
    summarise_file,
    translate_file,
    translated_name,
)
from tests.loops import run
from tests.serve.stubs import service as stub_service


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def store() -> Iterator[Uploads]:
    made = Uploads()
    yield made
    made.close()


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


def test_a_removed_file_is_gone(store: Uploads) -> None:
    stored = store.add(b"a", "a.txt")
    store.remove(stored.id)
    store.remove(stored.id)  # twice is no error
    assert store.find(stored.id) is None
    assert not stored.path.exists()


@pytest.mark.parametrize("number", ["", ".", "..", "../x", "/etc/passwd", "x" * 32])
def test_an_unknown_id_is_nothing(store: Uploads, number: str) -> None:
    store.add(b"a", "a.txt")
    assert store.find(number) is None
    store.remove(number)


def test_limits(store: Uploads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_FILES", 2)
    monkeypatch.setattr(uploads, "MAX_BYTES", 10)
    first = store.add(b"a" * 6, "a.txt")
    with pytest.raises(Refusal, match="too many files") as refused:
        store.add(b"b" * 5, "b.txt")
    assert refused.value.status == 503
    store.add(b"b" * 4, "b.txt")
    store.remove(first.id)
    store.add(b"c", "c.txt")
    with pytest.raises(Refusal):
        store.add(b"", "d.txt")


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
    assert file_type("a.docx") == ".docx"
    assert translated_name("dir/letter.v2.md", "de", ".md") == "letter.v2_de.md"
    assert translated_name("Letter.PDF", "de", ".html") == "Letter_de.html"
    assert translated_name("Letter.DOCX", "de", ".docx") == "Letter_de.DOCX"
    for name in ("a.exe", "a.txt.exe", "txt"):
        with pytest.raises(Refusal, match="not supported"):
            file_type(name)


def test_types_of_translations() -> None:
    assert output_type("a.docx", None) == ".docx"
    assert output_type("a.docx", "DOCX") == ".docx"
    assert output_type("a.pdf", None) == ".html"
    assert output_type("a.pdf", "docx") == ".docx"
    with pytest.raises(Refusal, match="cannot become pdf"):
        output_type("a.docx", "pdf")


def refusal(name: str, content: bytes, **settings: int) -> Refusal:
    """The refusal of a file."""

    async def read() -> None:
        service, store = stub_service(**settings), Uploads()
        try:
            await read_file(service, store, content, name, output_type(name), "en", "de")
        finally:
            store.close()

    with pytest.raises(Refusal) as refused:
        run(read())
    return refused.value


BOMB = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "a"><!ENTITY b "&a;&a;">]><x>&b;</x>'


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.docx", b"PK\x03\x04 but not more", "a.docx: "),
        ("a.json", b"{", "a.json: "),
        ("a.xlf", BOMB, "a.xlf: "),
        ("a.txt", b"\x00\x01" * 50, "a.txt: "),
    ],
)
def test_a_damaged_or_unsafe_file_is_refused_with_one_line(name: str, content: bytes, words: str) -> None:
    refused = refusal(name, content)
    assert refused.status == 400
    assert refused.message.startswith(words)
    assert "\n" not in refused.message


def test_too_much_text_is_refused() -> None:
    assert refusal("a.html", b"<p>the cat</p><p>the <b>house</b></p>", document_characters=10).status == 413


def test_a_document_is_translated_with_its_layout() -> None:
    async def translate() -> TranslatedDocument:
        service, store = stub_service(), Uploads()
        page = b"<h1>The <b>cat</b></h1>\r\n<p>A cat.</p><p>5</p><p>A cat.</p>"
        job = await read_file(service, store, page, "a.html", ".html", "en", "de")
        assert job.characters == len("The cat") + 2 * len("A cat.")
        done = await translate_file(service, job)
        store.close()
        return done

    done = run(translate())
    assert done.content == b"<h1>THE <b>CAT</b></h1>\r\n<p>A CAT.</p><p>5</p><p>A CAT.</p>"
    assert summarise_file(done) == {"segments": 3, "translated": 3, "kept": 0, "flagged": 0, "list": []}
