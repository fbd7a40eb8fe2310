"""The texts and forms of benchmarks.formality, and the whole benchmark with an untrained model."""

import lzma
import sys
from pathlib import Path

import pytest

from tests.translate.bundles import make_bundle
from tests.translate.stub import formal_tokenizer


def test_texts_and_forms(tmp_path: Path) -> None:
    from benchmarks.formality import find_form, read_texts  # type: ignore[import-not-found]

    one, two, three = ([word] * 7 for word in ("one", "two", "three"))
    lines = ["\t".join(row) for row in (one, two, three)]
    (tmp_path / "a.text.tsv").write_text(f"{lines[0]}\n{lines[1]}\n\n{lines[2]}\n")
    (tmp_path / "b.text.tsv.xz").write_bytes(lzma.compress("\n\n".join(lines[:1] * 30).encode()))
    (tmp_path / "c.tsv").write_text(f"{lines[0]}\n")
    assert list(read_texts(tmp_path)) == [[one, two], [three], *([[one]] * 30)]
    assert list(read_texts(tmp_path, held_out=True)) == [[one]] * 2
    assert find_form(["Ich sehe dich.", "Das Haus.", "Wo bist du?"], "de", 2) == "informal"
    assert find_form(["Ich sehe dich.", "Das Haus."], "de", 2) is None
    assert find_form(["Ich sehe dich.", "Wo sind Sie?"], "de", 2) is None


def test_an_untrained_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import formality

    model = make_bundle(tmp_path / "model", vocabulary=formal_tokenizer())
    monkeypatch.setattr(formality, "FORMS", {"de": ()})
    monkeypatch.setattr(formality, "WRITTEN", tmp_path)
    (tmp_path / "a.text.tsv").write_text("\t".join(["Who is he?"] * 7) + "\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["formality", str(model)])
    formality.main()
    first, _, row = capsys.readouterr().out.splitlines()
    assert first.startswith("1 texts, ")
    assert row.startswith("de ")
    assert len(row.split()) == 8
