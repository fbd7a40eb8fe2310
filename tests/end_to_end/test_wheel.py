"""A wheel without the model, and the model installed beside it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import hark

ROOT = Path(hark.__file__).parents[2]
SEVEN = ROOT / "src/hark/models_data/seven"


def test_a_wheel_without_models_takes_one_beside_it(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "HARK_WITHOUT_MODELS": "1"},
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if name.startswith("hark/models_data/seven/")]
        assert wheel.stat().st_size < 4_000_000
        archive.extractall(tmp_path / "site")
    home = tmp_path / "home"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "XDG_DATA_HOME": str(home), "HOME": str(home)}
    environment.pop("HARK_MODELS", None)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "hark", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    without = run("translate", "-t", "de", "Good morning.")
    assert (without.returncode, without.stdout) == (2, "")
    assert (
        without.stderr == "hark: no models installed; hark models add FOLDER installs one, or name its folder with -m\n"
    )
    assert run("models", "add", str(SEVEN)).returncode == 0
    with_model = run("translate", "-t", "de", "Good morning.")
    assert with_model.returncode == 0, with_model.stderr
    assert with_model.stdout == "Guten Morgen.\n"
