"""Integrity of bundles and datasets: `manifest.json` with the size and sha256 of each file, and the folder's kind."""

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from threading import Thread
from typing import Any

from hark.errors import UserError

NAME = "manifest.json"


def seal(folder: Path, kind: str, version: int, before: Path | None = None) -> None:
    """Write the manifest of a folder, as its last file.

    Files that are hard links to those of `before`, another sealed folder, keep their sums: hashing weights takes
    seconds, and would hide damage.
    """
    known = (read_manifest(before) or {}).get("files", {}) if before else {}
    kept = {name for name in known if before and is_linked(folder / name, before / name)}
    files = {
        path.name: known[path.name] if path.name in kept else {"bytes": path.stat().st_size, "sha256": sha256(path)}
        for path in sorted(folder.iterdir())
        if path.name != NAME
    }
    text = json.dumps({"kind": kind, "format": version, "files": files}, indent=1) + "\n"
    (folder / NAME).write_text(text, encoding="utf-8")


def is_linked(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def verify(
    folder: Path, kind: str, version: int, for_people: Collection[str] = (), later: Collection[str] = ()
) -> list[str]:
    """Raise an error if a folder is of another kind or format, incomplete or modified.

    Files in `for_people` may be modified or missing; return a line about each such problem. Only the size is compared
    of files in `later`, which the caller hashes with `Hashing`.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        raise UserError(f"{folder}: not a {kind}: {NAME} is missing or invalid")
    if manifest.get("kind") != kind:
        raise UserError(f"{folder}: not a {kind}, but a {manifest.get('kind')}")
    if manifest.get("format") != version:
        raise UserError(
            f"{folder}: has format {manifest.get('format')}; this version of hark reads format {version}; "
            "use the version that made it"
        )
    problems = []
    for name, expected in manifest["files"].items():
        problem = find_problem(folder / name, expected, kind, hashed=name not in later)
        if problem is not None and name not in for_people:
            raise UserError(problem)
        problems += [problem] if problem is not None else []
    return problems


class Hashing:
    """Hashes a large file of a verified folder in a thread, while others load it."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path, self._problem = folder / name, ""
        manifest = read_manifest(folder) or {"kind": "", "files": {}}
        arguments = (manifest["files"].get(name), manifest["kind"])
        self._thread = Thread(target=self._run, args=arguments, daemon=True)
        self._thread.start()

    def _run(self, expected: Mapping[str, Any] | None, kind: str) -> None:
        try:
            self._problem = (find_problem(self._path, expected, kind) if expected else "") or ""
        except OSError as error:
            self._problem = f"{self._path}: cannot be read: {error.strerror}"

    def wait(self) -> None:
        """Raise an error if the file is modified."""
        self._thread.join()
        if self._problem:
            raise UserError(self._problem)


def find_problem(path: Path, expected: Mapping[str, Any], kind: str, hashed: bool = True) -> str | None:
    """Describe what is wrong with a file, if anything."""
    if not path.is_file():
        return f"{path}: missing; the {kind} is incomplete"
    if path.stat().st_size != expected["bytes"]:
        return f"{path}: damaged: {path.stat().st_size} bytes, expected {expected['bytes']}"
    if hashed and sha256(path) != expected["sha256"]:
        return f"{path}: damaged or modified: wrong sha256"
    return None


def is_kind(folder: Path, kind: str) -> bool:
    """Whether a folder's manifest names this kind. Does not verify the files."""
    manifest = read_manifest(folder)
    return manifest is not None and manifest.get("kind") == kind


def read_manifest(folder: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and isinstance(manifest.get("files"), dict) else None


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
