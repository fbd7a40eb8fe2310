"""How many files a sentence, a request and a document cross."""

import os
import re
import subprocess
import sys

from tests.docs.pages import ROOT

MOST = {"sentence": 25, "request": 35, "document": 60}


def test_few_files_are_crossed_and_the_architecture_says_how_many() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.crossings", "--files"],  # a process of its own: nothing is loaded yet
        cwd=ROOT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {name: int(count) for name, count in re.findall(r"^(\w+): (\d+) files$", done.stdout, re.MULTILINE)}
    said = re.search(
        r"a sentence crosses (?P<sentence>\d+) files .* a request to `/translate` (?P<request>\d+) .*"
        r"`hark translate letter.docx` (?P<document>\d+) ",
        (ROOT / "ARCHITECTURE.md").read_text(),
        re.DOTALL,
    )
    assert said is not None
    assert found == {name: int(count) for name, count in said.groupdict().items()}
    assert all(found[name] <= most for name, most in MOST.items()), done.stdout
