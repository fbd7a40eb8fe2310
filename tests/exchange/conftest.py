"""Fewer sentences to compare models by: searches take long, and random models seldom end what they write."""

from pathlib import Path

import pytest

from hark.exchange.parity import check_sentences

FEW = 4


def some_sentences(language: str, file: Path | None = None) -> list[str]:
    """Every fifth of the twenty, and those of the file."""
    every = check_sentences(language, file)
    return every[:20:5] + every[20:]


@pytest.fixture
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("export", "importer"):
        monkeypatch.setattr(f"hark.exchange.{module}.check_sentences", some_sentences)
