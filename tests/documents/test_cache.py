"""The finished segments of a killed run: every one that was added is there again, and only with the same settings."""

import json
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from hark.documents.formats import SegmentOutcome
from hark.documents.translate import SegmentCache, cache_path
from hark.errors import HarkError, UserError
from hark.translate.align import Link
from hark.translate.translation import Reason

OUTCOME = SegmentOutcome("zwei\n„drei“ 🙂", (Link((0, 3), (0, 4), 0.9),), "memory", (Reason("number", "2 -> 3"),))


def interrupted(path: Path, *texts: str, settings: str = "s") -> None:
    with suppress(KeyboardInterrupt), SegmentCache(path, settings) as cache:
        for text in texts:
            cache.add((text, True), OUTCOME)
        raise KeyboardInterrupt


def test_an_interrupted_run_leaves_its_outcomes(tmp_path: Path) -> None:
    path = cache_path(tmp_path / "letter.de.docx")
    interrupted(path, "one", "two")
    with SegmentCache(path, "s") as cache:
        assert cache.done == {("one", True): OUTCOME, ("two", True): OUTCOME}
    assert list(tmp_path.iterdir()) == []  # a finished run removes them


def test_outcomes_of_other_settings_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "cache"
    interrupted(path, "one")
    interrupted(path, "two", settings="other")
    with SegmentCache(path, "other") as cache:
        assert list(cache.done) == [("two", True)]


@pytest.mark.parametrize("end", ["", '{"source": "x", ', '{"source": "x"}\n', "[]\n", "\xff\n", "\n"])
def test_a_damaged_end_is_dropped(tmp_path: Path, end: str) -> None:
    path = tmp_path / "cache"
    interrupted(path, "one", "two")
    whole = path.read_bytes()
    path.write_bytes(whole + end.encode("latin-1"))
    interrupted(path, "three")
    lines = path.read_bytes().splitlines(keepends=True)
    assert b"".join(lines[:3]) == whole
    assert [json.loads(line)["source"] for line in lines[1:]] == ["one", "two", "three"]


def test_nothing_stays_of_a_run_that_finished_nothing(tmp_path: Path) -> None:
    interrupted(tmp_path / "cache")
    assert list(tmp_path.iterdir()) == []


def test_only_one_process_at_a_time(tmp_path: Path) -> None:
    with (
        SegmentCache(tmp_path / "cache", "s"),
        pytest.raises(HarkError, match="another process"),
    ):
        SegmentCache(tmp_path / "cache", "s")


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        SegmentCache(tmp_path / "none" / "cache", "s")


KILLED = """
import os, signal, sys
from pathlib import Path
from hark.documents.translate import SegmentCache, translate_document
from tests.documents.plain import Lines, Reversing

class Mortal(SegmentCache):
    def add(self, key, outcome):
        super().add(key, outcome)
        if len(self.done) == 700:
            os.kill(os.getpid(), signal.SIGKILL)

with Mortal(Path(sys.argv[1]), "s") as cache:
    translate_document(Lines("\\n".join(f"line {number}" for number in range(1000))), Reversing(), cache)
"""


def test_a_killed_process_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cache"
    root = Path(__file__).parents[2]
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], cwd=root, timeout=600, check=False)
    assert killed.returncode == -signal.SIGKILL
    with SegmentCache(path, "s") as cache:
        assert [text for text, _ in cache.done] == [f"line {number}" for number in range(700)]
        assert cache.done["line 699", False].text == "enil 996"
