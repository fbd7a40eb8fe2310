"""Errors about missing extras, exit codes, and installation hints."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hark import errors
from hark.errors import HarkError, MissingExtraError, UserError, require

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WITHOUT_TORCH = "import sys; sys.modules['torch'] = None"  # Python's own way to make an import fail


def test_exit_codes() -> None:
    assert (UserError.exit_code, HarkError.exit_code) == (2, 1)


def test_a_missing_extra_is_named() -> None:
    with pytest.raises(MissingExtraError, match=r"hark\.x requires nosuchthing: pip install 'hark-translate\[train\]'"):
        require("nosuchthing", extra="train", needed_by="hark.x")
    require("json", extra="train", needed_by="hark.x")


@pytest.mark.parametrize("room", ["model", "train"])
def test_packages_that_need_torch_name_the_extra(room: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"{WITHOUT_TORCH}\nimport hark.{room}"], capture_output=True, text=True, check=False
    )
    last = run.stderr.strip().splitlines()[-1]
    assert f"hark.{room} requires torch: pip install 'hark-translate[train]'" in last


def test_the_cpu_build_of_torch_is_the_one_in_constraints() -> None:
    assert errors.CPU_TORCH in (ROOT / "constraints.txt").read_text().splitlines()


@pytest.mark.parametrize(
    ("platform", "gpu", "torch", "cpu_only"),
    [
        ("linux", False, False, True),
        ("linux", True, False, False),
        ("linux", False, True, False),  # already installed, with or without CUDA
        ("darwin", False, False, False),
    ],
)
def test_linux_without_a_gpu_gets_torch_without_cuda(
    platform: str, gpu: bool, torch: bool, cpu_only: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(errors, "NVIDIA", (tmp_path / "driver", tmp_path if gpu else tmp_path / "dxg"))
    monkeypatch.setattr(errors, "find_spec", lambda name: (torch and name == "torch") or None)
    assert (errors.CPU_TORCH in errors.how_to_install("train")) == cpu_only
    assert errors.CPU_TORCH not in errors.how_to_install("serve")
    assert errors.how_to_install("train").startswith("pip install 'hark-translate[train]'")


def hints() -> Iterator[tuple[str, str]]:
    """Every `pip install` command in the repository, with its file."""
    texts = [ROOT / "README.md", ROOT / "Makefile", *(ROOT / "docs").glob("*.md")]
    code = [path for folder in ("src", "tools", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.*")]
    read = [path for path in code if path.suffix in (".py", ".sh", ".toml", ".md") and path.name != "trust.toml"]
    for path in [*texts, *read]:
        for found in re.finditer(r"pip install ([^`\n]*)", path.read_text()):
            yield str(path.relative_to(ROOT)), found[1]


def test_every_hint_names_our_package_or_one_that_we_need() -> None:
    """`pip install hark` would install an unrelated package."""
    # An export to ONNX says what its own program needs, which is not hark.
    packages = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["onnx"]]
    needed = [re.split(r"[<>=]", each)[0] for each in packages]
    found = list(hints())
    assert {"src/hark/errors.py", "docs/training.md", "README.md", "Makefile"} <= {path for path, _ in found}
    for path, command in found:
        words = [
            word for word in re.split(r"[\s;]+", command) if not word.startswith("--") and word != "constraints.txt"
        ]
        name, _, extras = words[0].strip("'\")").partition("[")
        assert name in ("hark-translate", "{DISTRIBUTION}", ".", *needed), (path, command)
        for extra in filter(None, extras.removesuffix("]").split(",")):
            assert extra in (*PROJECT["optional-dependencies"], "{extra}"), (path, command)


def test_the_distribution_has_one_name() -> None:
    assert PROJECT["name"] == errors.DISTRIBUTION
    everything = PROJECT["optional-dependencies"]["all"]
    assert everything == [f"{errors.DISTRIBUTION}[train,data,serve,documents,onnx,hf,tensorboard]"]
    assert PROJECT["scripts"] == {"hark": "hark.__main__:main"}
