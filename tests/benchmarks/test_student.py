"""A student against its teacher: the figures are those of `hark evaluate`."""

import json
import sys
from pathlib import Path

import pytest

from tests.evaluate.material import REFERENCES, SOURCES
from tests.translate.bundles import make_bundle


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Command-line arguments: two models and a test set, in an empty folder."""
    make_bundle(tmp_path / "small")
    make_bundle(tmp_path / "large", "en", "de", "model.n_encoder_layers=2")
    for name, lines in (("test.en", SOURCES), ("test.de", REFERENCES)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    words = ["student.py", "small", "large", "--source", "test.en", "--reference", "test.de"]
    return [*words, "--resamples", "10", "--repeats", "1", "--sentences", "2", "--json", "out.json"]


def test_the_table_and_the_json(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import student

    monkeypatch.setattr(sys, "argv", arguments)
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

    # Scores of an earlier evaluation are used, but refused if they are of other models.
    tree["sets"][0]["systems"][0]["scores"]["bleu"]["score"] = 77.7
    Path("before.json").write_text(json.dumps(tree))
    monkeypatch.setattr(sys, "argv", [*arguments, "--evaluation", "before.json"])
    student.main()
    assert " 77.7 " in capsys.readouterr().out
    swapped = [arguments[0], arguments[2], arguments[1], *arguments[3:], "--evaluation", "before.json"]
    monkeypatch.setattr(sys, "argv", swapped)
    with pytest.raises(SystemExit, match=r"before\.json: not an evaluation of large and small"):
        student.main()


def test_sentences_are_sampled_from_the_whole_set() -> None:
    from benchmarks.student import sample_evenly

    from hark.evaluate.held_out import HeldOutSet

    texts = tuple(map(str, range(10)))
    assert sample_evenly(HeldOutSet("ten", texts, texts), 3).sources == ("0", "3", "6")
    assert sample_evenly(HeldOutSet("ten", texts, texts), 30).sources == texts
