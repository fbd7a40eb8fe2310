"""Atomic creation of folders."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from hark.atomic import new_folder, refuse_overlap, replace_file
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


def test_the_folder_appears_at_the_end(tmp_path):
    folder = tmp_path / "deep" / "down"
    with new_folder(folder, is_ours) as partial:
        (partial / "file").write_text("x")
        assert not folder.exists()
    assert (folder / "file").read_text() == "x"
    assert left_in(folder.parent) == ["down"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_nothing_and_keeps_the_existing_folder(tmp_path, error):
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


def test_our_folder_is_replaced_only_with_force_and_an_empty_one_is_filled(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    make(folder, "old")
    with pytest.raises(UserError, match=r"folder: already exists; .* --force"):
        make(folder, "new")
    assert (folder / "sub" / "file").read_text() == "old"
    make(folder, "new", force=True)
    assert (folder / "sub" / "file").read_text() == "new"
    assert left_in(tmp_path) == ["folder"]


def test_folders_of_others_are_never_replaced(tmp_path):
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


def test_a_folder_that_appears_meanwhile_is_not_replaced(tmp_path):
    folder = tmp_path / "folder"

    def collide():
        with new_folder(folder, is_ours, force=True):
            folder.mkdir()
            (folder / "precious").touch()

    with pytest.raises(UserError, match="not made by hark"):
        collide()
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
        time.sleep(600)


@pytest.fixture
def other_process(tmp_path):
    """Another process that is writing tmp_path/folder."""
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    process = context.Process(target=hold, args=(tmp_path / "folder", started))
    process.start()
    assert started.wait(120)
    yield process
    process.kill()
    process.join()


def test_only_one_process_at_a_time_can_write_a_folder(tmp_path, other_process):
    with pytest.raises(HarkError, match="another process is writing it"):
        make(tmp_path / "folder")
    assert (tmp_path / ".folder.partial" / "half").exists()
    os.kill(other_process.pid, signal.SIGKILL)
    other_process.join()
    assert left_in(tmp_path) == [".folder.partial"]
    make(tmp_path / "folder")
    assert left_in(tmp_path) == ["folder"]
    assert left_in(tmp_path / "folder") == ["ours", "sub"]


def test_a_kill_between_the_two_renames_loses_nothing(tmp_path):
    folder = tmp_path / "folder"
    make(folder, "old")
    folder.rename(tmp_path / ".folder.old")
    with pytest.raises(UserError, match="already exists"):
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
        ("input", "would overwrite the input .*input"),
        ("input/", "would overwrite the input .*input"),
        ("link", "would overwrite the input .*input"),
        ("linked/input", "would overwrite the input .*input"),
        (".", "contains the input .*input"),
        ("linked", "contains the input .*input"),
        ("input/new/deep", "is inside the input .*input"),
        ("link/new", "is inside the input .*input"),
    ],
)
def test_an_output_that_overlaps_an_input_is_rejected(tmp_path, monkeypatch, output, message):
    (tmp_path / "input").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "input")
    (tmp_path / "linked").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        refuse_overlap(Path(output), [tmp_path / "other", Path("input")])


def test_an_output_next_to_an_input_is_accepted(tmp_path):
    (tmp_path / "input").mkdir()
    (tmp_path / "file").touch()
    refuse_overlap(tmp_path / "input2", [tmp_path / "input", tmp_path / "file", tmp_path / "missing"])


def test_a_file_is_replaced_completely_or_not_at_all(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(HarkError, match="cannot be written"):
        replace_file(tmp_path / "none" / "file", b"x")
    assert left_in(tmp_path) == ["file", "link"]
