"""Admits requests: checks API keys, and limits the requests per minute of each client, by key or address."""

import hashlib
import hmac
import math
import os
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from starlette.requests import Request

from hark.errors import UserError
from hark.serve.bodies import Refusal
from hark.serve.settings import ServeSettings
from hark.userfiles import read_bytes

KEY_LINE = re.compile(r"([0-9a-fA-F]{64})(?:\s+(.*\S))?\s*")
SCHEMES = ("bearer", "deepl-auth-key")
MAX_CLIENTS = 10_000
"""Clients to remember; more than that forget the one that was quiet longest, which bounds memory."""


class Keys:
    """The hashes of the keys in a file, one per line, each with an optional name. A changed file is read again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._names: dict[bytes, str] = {}
        self._read()

    def find(self, key: str) -> str | None:
        """Return the name of a key; None if it is unknown."""
        with suppress(OSError, UserError):  # keep the keys that are known to be valid
            status = self._path.stat()
            if (status.st_mtime_ns, status.st_size) != self._stamp:
                self._read()
        hashed, found = hash_key(key), None
        for known, name in self._names.items():  # all of them, so that the time does not depend on which one matches
            if hmac.compare_digest(known, hashed):
                found = name
        return found

    def _read(self) -> None:
        try:
            status, lines = self._path.stat(), read_bytes(self._path).decode().splitlines()
        except (OSError, UnicodeDecodeError):
            raise UserError(f"{self._path}: cannot be read; make it with hark serve --new-key") from None
        names: dict[bytes, str] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            match = KEY_LINE.fullmatch(line)
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


class Rates:
    """A bucket for each client, which refills steadily: a minute's requests may come at once, then they are spread."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        """`per_minute` 0: no limit."""
        self._per_minute, self._clock = per_minute, clock
        self._buckets: dict[str, tuple[float, float]] = {}
        """By client, the requests that it may still send and when that was so; the one quiet longest first."""

    def take(self, client: str) -> int:
        """Count a request. Return 0 if it is allowed, otherwise the seconds to wait."""
        if not self._per_minute:
            return 0
        now = self._clock()
        left, since = self._buckets.pop(client, (self._per_minute, now))
        left = min(self._per_minute, left + (now - since) * self._per_minute / 60)
        allowed = left >= 1.0
        self._buckets[client] = (left - 1.0 if allowed else left), now
        if len(self._buckets) > MAX_CLIENTS:
            del self._buckets[next(iter(self._buckets))]
        return 0 if allowed else max(1, math.ceil((1.0 - left) * 60 / self._per_minute))


class Admission:
    """Checks keys and rates. Without a file of keys, every key is accepted, and clients are told by address."""

    def __init__(self, settings: ServeSettings) -> None:
        self._keys = Keys(settings.api_keys) if settings.api_keys is not None else None
        self._rates = Rates(settings.requests_per_minute)

    @property
    def needs_keys(self) -> bool:
        return self._keys is not None

    def admit(self, request: Request, key: str | None = None) -> None:
        """Refuse a request with an unknown key, or of a client with too many requests. By default the key is that of
        the header Authorization."""
        client = request.client.host if request.client else ""
        key = key or header_key(request)
        if self._keys is not None:
            name = None if key is None else self._keys.find(key)
            if name is None:
                problem = "Invalid API key" if key else "an API key is required"
                wait = self._rates.take(f"address {client}")  # nobody may try keys at any rate
                raise Refusal(403, problem) if not wait else slow_down(wait)
            client = f"key {name}"
            request.state.key = name
        if wait := self._rates.take(client):
            raise slow_down(wait)


def slow_down(wait: int) -> Refusal:
    return Refusal(429, "Slowdown: too many requests; try again later", wait)


def header_key(request: Request) -> str | None:
    """The key in the header Authorization."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() or None if scheme.lower() in SCHEMES else None
