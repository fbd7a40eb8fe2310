"""The catalogue of public models: names as data, and fetching through the import."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from hark.errors import UserError
from hark.exchange import catalogue
from hark.exchange.catalogue import find, read_catalogue, search


def test_names_are_unique_and_complete() -> None:
    entries = read_catalogue()
    assert len({each.name for each in entries}) == len(entries) > 500
    assert all(each.source and each.target and each.licence and each.megabytes for each in entries)
    assert {"opus-mt-en-de", "opus-mt-de-en", "opus-mt-fr-en", "opus-mt-en-ROMANCE"} <= {each.name for each in entries}


def test_known_licences_are_stated() -> None:
    licences = {each.name: each.licence for each in read_catalogue()}
    assert (licences["opus-mt-en-fr"], licences["opus-mt-en-de"]) == ("Apache-2.0", "CC-BY-4.0")
    assert licences["opus-mt-en-fi"] == "CC-BY-4.0 or Apache-2.0"


def test_search_by_language_pair_or_name() -> None:
    german = search("de")
    assert german
    assert all("de" in (each.source, each.target) for each in german)
    assert [each.address for each in search("en-fr")] == ["Helsinki-NLP/opus-mt-en-fr"]
    assert {each.name for each in search("romance")} == {"opus-mt-en-ROMANCE", "opus-mt-ROMANCE-en"}
    assert search("tlh") == []


def test_a_name_may_be_short_and_a_typo_is_explained() -> None:
    assert find("en-fr") == find("opus-mt-en-fr") == find("Helsinki-NLP/opus-mt-en-fr")
    with pytest.raises(UserError, match="not in the catalogue"):
        find("nonsense")
    with pytest.raises(UserError, match="did you mean opus-mt-en-fr"):
        find("opus-mt-en-frr")


def test_fetching_is_one_call_of_the_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    stub: Any = ModuleType("hark.exchange.importer")
    stub.ImportRequest = lambda source: SimpleNamespace(source=source)
    stub.import_model = lambda *arguments: calls.append(arguments)
    monkeypatch.setitem(sys.modules, "hark.exchange.importer", stub)
    catalogue.fetch(find("en-fr"), tmp_path / "model", False, print)
    ((request, folder, force, say),) = calls
    assert (request.source, folder, force, say) == ("Helsinki-NLP/opus-mt-en-fr", tmp_path / "model", False, print)
