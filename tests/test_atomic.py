"""A folder made whole or not at all."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from hark.atomic import new_folder, refuse_overlap
from hark.errors import HarkError, UserError


def is_ours(folder):
    return (folder / "ours").exists()


def make(folder, content="new", force=False):
    with new_folder(folder, is_ours, force) as partial:
        (partial / "sub").mkdir()
        (partial / "sub" / "file").write_text(content)
        (partial / "ours").touch()


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_it_appears_at_the_end(tmp_path):
    folder = tmp_path / "deep" / "down"
    with new_folder(folder, is_ours) as partial:
        (partial / "file").write_text("x")
        assert not folder.exists()
    assert (folder / "file").read_text() == "x"
    assert left_in(folder.parent) == ["down"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_nothing_and_keeps_what_was_there(tmp_path, error):
    folder = tmp_path / "folder"
    make(folder, "old")

    def fail():
        with new_folder(folder, is_ours, force=True) as partial:
            (partial / "half").write_text("x")
            raise error

    with pytest.raises(error):
        fail()
    assert (folder / "sub" / "file").read_text() == "old"
    assert left_in(tmp_path) == ["folder"]


def test_ours_is_replaced_by_force_alone_and_an_empty_folder_filled(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    make(folder, "old")
    with pytest.raises(UserError, match=r"folder: exists already; .* --force"):
        make(folder, "new")
    assert (folder / "sub" / "file").read_text() == "old"
    make(folder, "new", force=True)
    assert (folder / "sub" / "file").read_text() == "new"
    assert left_in(tmp_path) == ["folder"]


def test_what_is_not_ours_is_left_alone(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "holiday.jpg").touch()
    with pytest.raises(UserError, match="not made by hark"):
        make(folder, force=True)
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="not made by hark"):
        make(tmp_path / "file", force=True)
    assert left_in(tmp_path) == ["file", "photos"]
    assert left_in(folder) == ["holiday.jpg"]


def test_what_came_there_meanwhile_is_left_alone(tmp_path):
    folder = tmp_path / "folder"

    def meet():
        with new_folder(folder, is_ours, force=True):
            folder.mkdir()
            (folder / "precious").touch()

    with pytest.raises(UserError, match="not made by hark"):
        meet()
    assert left_in(tmp_path) == ["folder"]
    assert left_in(folder) == ["precious"]


def test_a_link_is_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "folder")
    make(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert left_in(tmp_path / "disk") == ["folder"]


def hold(folder, started):
    with new_folder(folder, is_ours) as partial:
        (partial / "half").write_text("x")
        started.set()
        time.sleep(60)


@pytest.fixture
def other_run(tmp_path):
    """Another process, in the middle of making tmp_path/folder."""
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    process = context.Process(target=hold, args=(tmp_path / "folder", started))
    process.start()
    assert started.wait(30)
    yield process
    process.kill()
    process.join()


def test_two_at_once(tmp_path, other_run):
    with pytest.raises(HarkError, match="another run"):
        make(tmp_path / "folder")
    assert (tmp_path / ".folder.partial" / "half").exists()
    os.kill(other_run.pid, signal.SIGKILL)
    other_run.join()
    assert left_in(tmp_path) == [".folder.partial"]
    make(tmp_path / "folder")
    assert left_in(tmp_path) == ["folder"]
    assert left_in(tmp_path / "folder") == ["ours", "sub"]


def test_killed_between_the_two_renames(tmp_path):
    folder = tmp_path / "folder"
    make(folder, "old")
    folder.rename(tmp_path / ".folder.old")
    with pytest.raises(UserError, match="exists already"):
        make(folder)
    assert (folder / "sub" / "file").read_text() == "old"
    folder.rename(tmp_path / ".folder.old")
    with pytest.raises(ValueError, match="boom"), new_folder(folder, is_ours, force=True):
        raise ValueError("boom")
    assert (folder / "sub" / "file").read_text() == "old"
    assert left_in(tmp_path) == ["folder"]


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("given", "is .*given itself"),
        ("given/", "is .*given itself"),
        ("link", "is .*given itself"),
        ("linked/given", "is .*given itself"),
        (".", "contains .*given"),
        ("linked", "contains .*given"),
        ("given/new/deep", "lies inside .*given"),
        ("link/new", "lies inside .*given"),
    ],
)
def test_an_output_may_not_be_an_input_nor_around_nor_inside_one(tmp_path, monkeypatch, output, message):
    (tmp_path / "given").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "given")
    (tmp_path / "linked").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        refuse_overlap(Path(output), [tmp_path / "other", Path("given")])


def test_an_output_beside_an_input_is_free(tmp_path):
    (tmp_path / "given").mkdir()
    (tmp_path / "file").touch()
    refuse_overlap(tmp_path / "given2", [tmp_path / "given", tmp_path / "file", tmp_path / "missing"])
