"""`hark plot`: a page or a picture of all runs, or a one-line error."""

import sys
import webbrowser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hark.cli.plot import plot, read_runs
from hark.errors import HarkWarning, UserError
from tests.train.records import dev, make_run, start, stop, train


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "a" / "base", start(), train(50), dev(50, 20.0, best=True), train(100), stop(100))


def test_a_page_with_all_runs(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = make_run(tmp_path / "big & <b>", start(), train(10))
    plot([run, other], tmp_path / "curves.html")
    assert capsys.readouterr().out == f"{tmp_path / 'curves.html'}\n"
    page = (tmp_path / "curves.html").read_text()
    assert "base" in page
    assert "big &amp; &lt;b&gt;" in page
    assert "<b>" not in page.replace("<figcaption><b>", "")


def test_a_page_on_stdout(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plot([run], Path("-"))
    sys.stdout.flush()
    page = capfd.readouterr().out
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")  # and no file name


def test_a_picture_for_documents(run: Path, tmp_path: Path) -> None:
    plot([run], tmp_path / "curves.SVG", "time")
    assert ElementTree.parse(tmp_path / "curves.SVG").getroot().tag.endswith("svg")


def test_runs_of_the_same_name_are_distinguished_and_none_is_drawn_twice(run: Path, tmp_path: Path) -> None:
    other = make_run(tmp_path / "b" / "base", start(), train(10))
    assert [each.overview.name for each in read_runs([run, other])] == [str(run), str(other)]
    assert [each.overview.name for each in read_runs([run, run / ".." / "base"])] == ["base"]


def test_the_page_is_opened_only_on_request(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    plot([run], tmp_path / "curves.html")
    assert opened == []
    plot([run], tmp_path / "curves.html", show=True)
    assert opened == [(tmp_path / "curves.html").as_uri()]


def test_invalid_arguments_are_one_line_and_leave_no_file(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"unknown format; name a \.html or \.svg file"):
        plot([run], tmp_path / "curves.png")
    with pytest.raises(UserError, match="no such folder; list runs with hark runs"):
        plot([run, tmp_path / "nowhere"], tmp_path / "curves.html")
    with pytest.raises(UserError, match=r"not a run: metrics\.jsonl is missing"):
        plot([tmp_path], tmp_path / "curves.html")
    with pytest.raises(UserError, match="no such folder: "):
        plot([run], tmp_path / "no" / "curves.html")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(UserError, match="is a folder"):
        plot([run], tmp_path / "folder.html")
    assert not list(tmp_path.glob("curves.*"))


def test_invalid_records_are_skipped_with_a_warning_or_an_error_if_all_are(run: Path, tmp_path: Path) -> None:
    with (run / "metrics.jsonl").open("ab") as file:
        file.write(b'\xff\x00garbage\n{"kind": "train"}\n\n[1]\n')
    with pytest.warns(HarkWarning, match=r"metrics\.jsonl: skipped 3 invalid lines"):
        (read,) = read_runs([run])
    assert len(read.history.train) == 2
    (run / "metrics.jsonl").write_bytes(b"[" * 100_000 + b"\ngarbage\n")
    with pytest.raises(UserError, match=r"metrics\.jsonl: none of its 2 lines is a valid record"):
        plot([run], tmp_path / "curves.html")
    for empty in ([], [start()]):
        started = make_run(tmp_path / f"started-{len(empty)}", *empty)
        with pytest.raises(UserError, match="nothing to plot yet"):
            plot([started], tmp_path / "curves.html")
    assert not (tmp_path / "curves.html").exists()
