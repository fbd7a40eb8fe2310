"""The texts and forms of benchmarks.formality, and the whole benchmark with an untrained model."""

import lzma
import sys
from pathlib import Path

import pytest

from tests.decode.bundles import make_bundle
from tests.decode.stub import formal_tokenizer


def test_texts_and_forms(tmp_path: Path) -> None:
    from benchmarks.formality import find_form, read_texts  # type: ignore[import-not-found]

    (tmp_path / "a.text.tsv").write_text("a\tb\nc\td\n\ne\tf\n")
    (tmp_path / "b.text.tsv.xz").write_bytes(lzma.compress(b"g\th\n"))
    (tmp_path / "c.tsv").write_text("x\ty\n")
    assert list(read_texts(tmp_path)) == [[["a", "b"], ["c", "d"]], [["e", "f"]], [["g", "h"]]]
    assert find_form(["Ich sehe dich.", "Das Haus.", "Wo bist du?"], "de", 2) == "informal"
    assert find_form(["Ich sehe dich.", "Das Haus."], "de", 2) is None
    assert find_form(["Ich sehe dich.", "Wo sind Sie?"], "de", 2) is None


def test_an_untrained_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import formality

    model = make_bundle(tmp_path / "model", vocabulary=formal_tokenizer())
    monkeypatch.setattr(formality, "FORMS", {"de": ()})
    monkeypatch.setattr(sys, "argv", ["formality", str(model), "--texts", "1"])
    formality.main()
    first, _, row = capsys.readouterr().out.splitlines()
    assert first.startswith("1 texts, ")
    assert row.startswith("de ")
    assert len(row.split()) == 8
