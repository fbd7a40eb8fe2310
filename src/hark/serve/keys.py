"""API keys: random, hashed in a file, compared in constant time."""

import hashlib
import hmac
import os
import re
import secrets
from pathlib import Path

from hark.errors import UserError
from hark.userfiles import read_bytes

LINE = re.compile(r"([0-9a-fA-F]{64})(?:\s+(.*\S))?\s*")


class Keys:
    """The hashes of the keys in a file, one per line, each with an optional name. A changed file is read again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._names: dict[bytes, str] = {}
        self._read()

    def find(self, key: str) -> str | None:
        """Return the name of a key; None if it is unknown."""
        self._read_if_changed()
        hashed = hash_key(key)
        found = None
        for known, name in self._names.items():  # all of them, so that the time does not depend on which one matches
            if hmac.compare_digest(known, hashed):
                found = name
        return found

    def _read_if_changed(self) -> None:
        try:
            status = self._path.stat()
            if (status.st_mtime_ns, status.st_size) != self._stamp:
                self._read()
        except (OSError, UserError):
            pass  # keep the keys that are known to be valid

    def _read(self) -> None:
        try:
            status, lines = self._path.stat(), read_bytes(self._path).decode().splitlines()
        except (OSError, UnicodeDecodeError):
            raise UserError(f"{self._path}: cannot be read; make it with hark serve --new-key") from None
        names: dict[bytes, str] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            match = LINE.fullmatch(line)
            if match is None:
                raise UserError(f"{self._path}:{number}: not the SHA-256 of a key; add keys with hark serve --new-key")
            names[bytes.fromhex(match[1])] = match[2] or f"key {number}"
        self._names, self._stamp = names, (status.st_mtime_ns, status.st_size)


def hash_key(key: str) -> bytes:
    """The SHA-256 of a key. Keys are random, so that no slow hash is needed."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def add_key(path: Path, name: str = "") -> str:
    """Append the hash of a new random key to a file that only its owner can read; return the key."""
    key = secrets.token_urlsafe(24)
    line = f"{hash_key(key).hex()} {' '.join(name.split())}".strip() + "\n"
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(file, "a") as out:
            out.write(line)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    return key
