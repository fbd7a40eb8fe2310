"""The seal of a folder: `manifest.json` with the size and sha256 of each file, and what kind of folder it is."""

import hashlib
import json
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


def verify(folder: Path, kind: str, version: int) -> None:
    """Refuse a folder that is of another kind, from a newer hark, incomplete or changed."""
    found = read_manifest(folder)
    if found is None or found.get("kind") != kind:
        raise UserError(f"{folder}: is not a {kind}")
    if found.get("format") != version:
        raise UserError(
            f"{folder}: is of format {found.get('format')}; this hark reads {version}; use the one that made it"
        )
    for name, expected in found["files"].items():
        path = folder / name
        if not path.is_file():
            raise UserError(f"{path}: is missing; the {kind} is incomplete")
        if path.stat().st_size != expected["bytes"]:
            raise UserError(
                f"{path}: has {path.stat().st_size} bytes where {expected['bytes']} were written; it is damaged"
            )
        if sha256(path) != expected["sha256"]:
            raise UserError(f"{path}: its sha256 is not the one that was written; it is damaged or was changed")


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
