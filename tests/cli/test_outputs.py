"""Verbs that write a bundle never overwrite their input, and others only with --force."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import Hark, make_runner, refused
from tests.translate.bundles import make_bundle


@pytest.fixture
def hark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[[str], Hark]:
    """A function that runs any verb in a folder with two bundles, `one` and `two`; `link` points to the first."""
    for name in ("one", "two"):
        make_bundle(tmp_path / name, "en", "de", "model.d_model=32")
    (tmp_path / "link").symlink_to(tmp_path / "one")
    return lambda verb: make_runner(verb, tmp_path, {}, monkeypatch, capfd)


def size(bundle: str) -> int:
    return Path(bundle, "model.safetensors").stat().st_size


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("one", "would overwrite the input one"),
        ("one/", "would overwrite the input one"),
        ("link", "would overwrite the input one"),
        ("link/x", "is inside the input one"),
        (".", "contains the input one"),
    ],
)
@pytest.mark.parametrize("verb", ["shrink", "average"])
def test_the_input_is_never_overwritten(
    hark: Callable[[str], Hark], verb: str, output: str, message: str, force: list[str]
) -> None:
    before = size("one") if Path("one").exists() else None
    inputs = ["one"] if verb == "shrink" else ["one", "two"]
    assert message in refused(hark(verb)(*inputs, "-o", output, "--weights", "int8", *force))
    assert before in (None, size("one"))
    assert not Path("one/x").exists()


@pytest.mark.parametrize("verb", ["shrink", "average"])
def test_another_bundle_is_replaced_only_with_force(hark: Callable[[str], Hark], tmp_path: Path, verb: str) -> None:
    make_bundle(tmp_path / "three", "en", "de", "model.d_model=32")
    words = ["one"] if verb == "shrink" else ["one", "two"]
    words += ["-o", "three", "--weights", "int8"]
    before = (tmp_path / "three" / "model.safetensors").stat().st_size
    assert "three: already exists; name another folder, or replace it with --force" in refused(hark(verb)(*words))
    assert size("three") == before
    done = hark(verb)(*words, "--force")
    assert done.returncode == 0, done.stderr
    assert size("three") < before
