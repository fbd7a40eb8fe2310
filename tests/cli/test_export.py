"""`hark export` on the command line."""

from pathlib import Path

import pytest

from hark.bundle import Bundle
from hark.weights import shrink
from tests.cli.running import Hark, make_runner, refused
from tests.translate.bundles import make_bundle


@pytest.fixture
def hark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hark:
    make_bundle(tmp_path / "small")
    return make_runner("export", tmp_path, {}, monkeypatch, capfd)


def test_size_storage_and_proof_are_printed(hark: Hark, tmp_path: Path) -> None:
    shrink(Bundle.open(tmp_path / "small"), tmp_path / "int8", "int8")
    done = hark("int8", "--to", "ctranslate2", "--precision", "float32", "-o", "out", "--no-check")
    assert done.returncode == 0, done.stderr
    size = sum(path.stat().st_size for path in (tmp_path / "out").iterdir())
    first, second = done.stdout.splitlines()
    assert first == f"out: ctranslate2, float32, dequantised from int8, {size / 1e6:.1f} MB"
    assert second.startswith("Export to ctranslate2, float32, dequantised from int8: not compared with ctranslate2")


def test_mistakes_are_one_line(hark: Hark, tmp_path: Path) -> None:
    assert "cannot be combined" in refused(hark("small", "--to", "argos", "-o", "out", "--check", "x", "--no-check"))
    assert "do not support int8" in refused(hark("small", "--to", "huggingface", "--precision", "int8", "-o", "out"))
    assert "no such model" in refused(hark("smal", "--to", "argos", "-o", "out"))
    assert "cannot be read" in refused(hark("small", "--to", "ctranslate2", "-o", "out", "--check", "missing.txt"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out/letter.txt").write_text("")
    assert "was not made by hark" in refused(hark("small", "--to", "ctranslate2", "-o", "out"))
