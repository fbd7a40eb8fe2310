"""The seal of a folder: `manifest.json` with the size and sha256 of each file, and what kind of folder it is."""

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from hark.errors import UserError

NAME = "manifest.json"


def seal(folder: Path, kind: str, version: int) -> None:
    """Write the manifest of everything in a folder. It is the last file to be written."""
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": sha256(path)}
        for path in sorted(folder.iterdir())
        if path.name != NAME
    }
    text = json.dumps({"kind": kind, "format": version, "files": files}, indent=1) + "\n"
    (folder / NAME).write_text(text, encoding="utf-8")


def verify(folder: Path, kind: str, version: int, for_people: Collection[str] = ()) -> list[str]:
    """Refuse a folder that is of another kind, from a newer hark, incomplete or changed.

    Files that only people read may be changed or missing; what is wrong with those is returned, a line for each.
    """
    found = read_manifest(folder)
    if found is None or found.get("kind") != kind:
        raise UserError(f"{folder}: is not a {kind}")
    if found.get("format") != version:
        raise UserError(
            f"{folder}: is of format {found.get('format')}; this hark reads {version}; use the one that made it"
        )
    problems = []
    for name, expected in found["files"].items():
        problem = find_problem(folder / name, expected, kind)
        if problem is not None and name not in for_people:
            raise UserError(problem)
        problems += [problem] if problem is not None else []
    return problems


def find_problem(path: Path, expected: Mapping[str, Any], kind: str) -> str | None:
    """What is wrong with a file, if anything is."""
    if not path.is_file():
        return f"{path}: is missing; the {kind} is incomplete"
    if path.stat().st_size != expected["bytes"]:
        return f"{path}: has {path.stat().st_size} bytes where {expected['bytes']} were written; it is damaged"
    if sha256(path) != expected["sha256"]:
        return f"{path}: its sha256 is not the one that was written; it is damaged or was changed"
    return None


def is_kind(folder: Path, kind: str) -> bool:
    """Whether a folder bears the seal of a kind, sound or not."""
    found = read_manifest(folder)
    return found is not None and found.get("kind") == kind


def read_manifest(folder: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("files"), dict) else None


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
