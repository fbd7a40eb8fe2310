"""The whole benchmark with an untrained model, and one that translates single sentences."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hark.bundle import Bundle, write_facts
from tests.translate.bundles import make_bundle


def test_an_untrained_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import context, formality  # type: ignore[import-not-found]

    folder = make_bundle(tmp_path / "model")
    monkeypatch.setattr(context, "FORMS", {"de": ()})
    (tmp_path / "a.text.tsv").write_text(
        "The cat runs.\tDie Katze ist da.\t-\t-\t-\t-\t-\nIt is old.\tSie ist alt.\t-\t-\t-\t-\t-\n"
    )
    monkeypatch.setattr(formality, "WRITTEN", tmp_path)
    monkeypatch.setattr(sys, "argv", ["context", str(folder)])
    with pytest.raises(SystemExit, match="translates single sentences"):
        context.main()
    bundle = Bundle.open(folder)
    write_facts(bundle, replace(bundle.facts, context=100))
    context.main()
    first, _, alone, together = capsys.readouterr().out.splitlines()
    assert first == "1 texts, 2 lines, from en, 100 tokens"
    assert alone.split()[:4] == ["de", "one", "by", "one"]
    assert alone.split()[8:10] == ["0.0%", "0.0%"]
    assert together.split()[:2] == ["de", "together"]
    assert together.split()[6] == "100.0%"
