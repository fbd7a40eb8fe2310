"""Glossaries are stored completely or not at all, belong to a key, and are checked."""

import errno
import json
from datetime import datetime
from pathlib import Path
from typing import NoReturn

import pytest

from hark.errors import HarkWarning
from hark.serve import glossaries
from hark.serve.bodies import Refusal
from hark.serve.glossaries import Glossaries, as_terms, get_dictionary, parse_entries, write_entries

PAIR = ("en", "de")
ENTRIES = (("house", "Gebäude"), ("a b", "c"))


def test_stored_and_read_again(tmp_path: Path) -> None:
    made = Glossaries(tmp_path / "g").create("Näme", "me", {PAIR: ENTRIES})
    again = Glossaries(tmp_path / "g")
    assert again.list("me") == [made]
    assert again.get(made.id, "me") == made
    changed = again.update(made, "new", {("de", "en"): (("x", "y"),)})
    assert Glossaries(tmp_path / "g").list("me") == [changed]
    assert set(changed.dictionaries) == {PAIR, ("de", "en")}
    less = again.remove_dictionary(changed, PAIR)
    assert set(less.dictionaries) == {("de", "en")}
    again.delete(less)
    assert list((tmp_path / "g").iterdir()) == []
    assert again.list("me") == []


def test_the_time_has_a_fraction_and_a_zone(tmp_path: Path) -> None:
    made = Glossaries(tmp_path).create("x", "", {PAIR: ENTRIES})
    parsed = datetime.strptime(made.created, "%Y-%m-%dT%H:%M:%S.%f%z")
    assert parsed.tzinfo is not None


def test_owners(tmp_path: Path) -> None:
    store = Glossaries(tmp_path)
    made = store.create("x", "me", {PAIR: ENTRIES})
    assert store.list("you") == []
    with pytest.raises(Refusal) as refused:
        store.get(made.id, "you")
    assert refused.value.status == 404


def test_files_are_private_and_an_interrupted_write_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Glossaries(tmp_path)
    made = store.create("x", "", {PAIR: ENTRIES})
    [path] = tmp_path.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(glossaries, "sync_one", fail)
    with pytest.raises(OSError, match="disk full"):
        store.update(made, "y", {})
    assert store.get(made.id, "").name == "x"
    assert list(tmp_path.iterdir()) == [path]
    assert Glossaries(tmp_path).get(made.id, "").name == "x"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"format": 2}', b'{"format": 1, "id": "../x"}', b"\xff", b"null", b'{"format": 1, "id": 5}'],
)
def test_damaged_files_do_not_hide_the_others(tmp_path: Path, content: bytes) -> None:
    made = Glossaries(tmp_path).create("x", "", {PAIR: ENTRIES})
    (tmp_path / "damaged.json").write_bytes(content)
    assert Glossaries(tmp_path).list("") == [made]


def test_a_file_under_another_name_is_ignored(tmp_path: Path) -> None:
    made = Glossaries(tmp_path).create("x", "", {PAIR: ENTRIES})
    [path] = tmp_path.iterdir()
    (tmp_path / "00000000-0000-0000-0000-000000000000.json").write_bytes(path.read_bytes())
    assert Glossaries(tmp_path).list("") == [made]
    assert json.loads(path.read_bytes())["name"] == "x"


@pytest.mark.parametrize("barred", ["iterdir", "mkdir", "open"])
def test_a_folder_that_cannot_be_used_is_no_internal_error(
    barred: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the home of another user, or on a read-only disk: `HOME=/root hark serve` answered with status 500."""

    def refuse(path: Path, *_: object, **__: object) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    store = Glossaries(tmp_path / "g")
    if barred == "iterdir":
        monkeypatch.setattr(Path, "iterdir", refuse)
        with pytest.warns(HarkWarning, match="g: cannot be read: Permission denied; going on without it"):
            assert store.list("") == []
        monkeypatch.undo()
        assert store.create("x", "", {PAIR: ENTRIES}).name == "x"
        return
    monkeypatch.setattr(*((Path, "mkdir", refuse) if barred == "mkdir" else (glossaries.os, "open", refuse)))
    assert store.list("") == []
    with pytest.raises(Refusal, match="set XDG_DATA_HOME to one that it can write to"):
        store.create("x", "", {PAIR: ENTRIES})


def test_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glossaries, "MAX_GLOSSARIES", 1)
    store = Glossaries(tmp_path)
    store.create("x", "", {PAIR: ENTRIES})
    with pytest.raises(Refusal) as refused:
        store.create("y", "", {PAIR: ENTRIES})
    assert refused.value.status == 456  # DeepL's "quota exceeded"


def test_entries() -> None:
    assert parse_entries("a\tb\r\n\r\n c \t d ", "tsv") == (("a", "b"), ("c", "d"))
    assert parse_entries('a,"b, c"\n"d\ne",f,en,de', "csv") == (("a", "b, c"), ("d\ne", "f"))
    assert parse_entries(write_entries(ENTRIES), "tsv") == ENTRIES
    for text, kind in (("a", "tsv"), ("a\tb\tc", "tsv"), ('"a', "csv"), ("a\tb", "xls")):
        with pytest.raises(Refusal):
            parse_entries(text, kind)


def test_terms_of_several_glossaries() -> None:
    terms = as_terms((("House", "1"),), (("house", "2"), ("old", "3")))
    assert dict(terms.entries) == {"House": "1", "old": "3"}


def test_a_missing_dictionary(tmp_path: Path) -> None:
    made = Glossaries(tmp_path).create("x", "", {PAIR: ENTRIES})
    with pytest.raises(Refusal, match="no dictionary from de to en"):
        get_dictionary(made, ("de", "en"))


def test_a_folder_that_cannot_be_made_is_one_refusal(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refusal, match="no folder for glossaries"):
        Glossaries(tmp_path / "file" / "glossaries").create("a", "", {("en", "de"): (("cat", "Katze"),)})
