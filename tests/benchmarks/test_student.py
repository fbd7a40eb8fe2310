"""A student beside its teacher: figures are those of `hark evaluate`, and the table says what they mean."""

import json
import sys
from pathlib import Path

import pytest

from tests.decode.bundles import make_bundle
from tests.evaluate.material import REFERENCES, SOURCES


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is typed: two models and a test set, in a folder with nothing else."""
    make_bundle(tmp_path / "small")
    make_bundle(tmp_path / "large", "en", "de", "model.n_encoder_layers=2")
    for name, lines in (("test.en", SOURCES), ("test.de", REFERENCES)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    words = ["student.py", "small", "large", "--source", "test.en", "--reference", "test.de"]
    return [*words, "--resamples", "10", "--repeats", "1", "--sentences", "2", "--json", "out.json"]


def test_loss_and_gain(given: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks import student

    monkeypatch.setattr(sys, "argv", given)
    student.main()
    tree = json.loads(Path("out.json").read_text())
    assert [each["name"] for each in tree["sets"][0]["systems"]] == ["small", "large"]
    head, row, *_ = capsys.readouterr().out.splitlines()
    cells = dict(zip(head.replace("test set", "set").split(), row.split(), strict=True))
    bleu = {each["name"]: each["scores"]["bleu"]["score"] for each in tree["sets"][0]["systems"]}
    rates = tree["cpu"]["sets"]["test"]
    assert cells["loss"] == f"{bleu['large'] - bleu['small']:.1f}"
    assert cells["ratio"] == f"{rates['small'] / rates['large']:.1f}x"
    assert cells["sentences"] == str(len(SOURCES))

    # Scores that were measured before are taken as they are, and refused where they are of something else.
    tree["sets"][0]["systems"][0]["scores"]["bleu"]["score"] = 77.7
    Path("before.json").write_text(json.dumps(tree))
    monkeypatch.setattr(sys, "argv", [*given, "--evaluation", "before.json"])
    student.main()
    assert " 77.7 " in capsys.readouterr().out
    swapped = [given[0], given[2], given[1], *given[3:], "--evaluation", "before.json"]
    monkeypatch.setattr(sys, "argv", swapped)
    with pytest.raises(SystemExit, match=r"before\.json: is not an evaluation of large and small"):
        student.main()


def test_sentences_are_taken_from_the_whole_set() -> None:
    from benchmarks.student import spread_out

    from hark.evaluate.held_out import HeldOutSet

    texts = tuple(map(str, range(10)))
    assert spread_out(HeldOutSet("ten", texts, texts), 3).sources == ("0", "3", "6")
    assert spread_out(HeldOutSet("ten", texts, texts), 30).sources == texts
