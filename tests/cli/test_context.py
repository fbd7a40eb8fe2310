"""`hark translate --no-context`, with a real engine, an untrained model that translates paragraphs, and a record of
what it is asked."""

from dataclasses import replace
from pathlib import Path

import pytest

import hark
from hark.bundle import Bundle, write_facts
from hark.translate.coder import Coder
from tests.cli.running import make_runner
from tests.translate.bundles import make_bundle

TEXT = "You see the house. It is old."


def test_sentences_together_and_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = make_bundle(tmp_path / "model")
    bundle = Bundle.open(folder)
    write_facts(bundle, replace(bundle.facts, context=50))
    asked: list[str] = []
    original = Coder.source_ids

    def record(coder: Coder, text: str, *rest: object) -> list[int]:
        asked.append(text)
        return original(coder, text, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Coder, "source_ids", record)
    run = make_runner("translate", tmp_path, {}, monkeypatch, capfd)
    assert run("-m", str(folder), TEXT).returncode == 0
    assert TEXT in asked
    asked.clear()
    assert run("-m", str(folder), "--no-context", TEXT).returncode == 0
    assert "It is old." in asked
    assert TEXT not in asked
    asked.clear()
    hark.load(folder).translate(TEXT, context=False)
    assert "It is old." in asked
    assert TEXT not in asked
    hark.load(folder).translate(TEXT)
    assert TEXT in asked
