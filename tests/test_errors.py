"""The plain install does without PyTorch, and says in one line what is missing."""

import subprocess
import sys

import pytest

from hark.errors import HarkError, MissingExtraError, UserError, require

WITHOUT_TORCH = "import sys; sys.modules['torch'] = None"  # Python's own way to make an import fail


def test_codes_of_a_mistake_and_of_a_failure() -> None:
    assert (UserError.exit_code, HarkError.exit_code) == (2, 1)


def test_a_missing_extra_names_itself() -> None:
    with pytest.raises(MissingExtraError, match=r"hark\.x needs nosuchthing.*pip install 'hark\[train\]'"):
        require("nosuchthing", extra="train", needed_by="hark.x")
    require("json", extra="train", needed_by="hark.x")


@pytest.mark.parametrize("room", ["model", "train"])
def test_rooms_that_need_torch_say_so(room: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"{WITHOUT_TORCH}\nimport hark.{room}"], capture_output=True, text=True, check=False
    )
    last = run.stderr.strip().splitlines()[-1]
    assert f"hark.{room} needs torch, which is not installed: pip install 'hark[train]'" in last
