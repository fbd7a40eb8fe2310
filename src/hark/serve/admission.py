"""Admits requests: of host names and origins that the server answers, with valid keys, at the rate of each client.

Any page that somebody opens can send forms and plain text to a server on this machine (CSRF). It cannot read the
answers, but could fill the disk and the queue. Browsers say where such a request comes from, in headers that no page
can change. A page can also let its own name resolve to 127.0.0.1 (DNS rebinding): to the browser, the server then has
the same origin as that page, which could read what it answers. Only the header Host tells the two apart.
"""

import hashlib
import hmac
import ipaddress
import math
import os
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hark.errors import UserError
from hark.serve.bodies import Refusal, refuse, shown
from hark.serve.settings import ServeSettings
from hark.userfiles import read_bytes

KEY_LINE = re.compile(r"([0-9a-fA-F]{64})(?:\s+(.*\S))?\s*")
SCHEMES = ("bearer", "deepl-auth-key")
MAX_CLIENTS = 10_000
"""Clients to remember; more than that forget the one that was quiet longest, which bounds memory."""
SAFE = ("GET", "HEAD", "OPTIONS")
"""Methods that change and compute nothing, unless an API says that they do."""
OWN = ("same-origin", "none")
"""Values of Sec-Fetch-Site of a request of the page of this server, and of one by the user or an extension."""
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Scripts, styles and data only from this server; nothing inline; no page may show it in a frame."""
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),  # translations must not stay in a cache on the way; static files say otherwise
)


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


def refuse_foreign(scope: Scope, settings: ServeSettings) -> None:
    """Refuse a request of a page of another origin, unless `cors` allows that origin."""
    headers = Headers(scope=scope)
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if "*" in settings.cors or origin in settings.cors or is_extension(origin):
        return
    # Browsers send Sec-Fetch-Site to this machine and over HTTPS; it is right also if a proxy changes the host.
    if site in OWN or (site is None and (origin is None or is_own(origin, headers.get("host", ""), settings))):
        return
    allow = f"--cors {shown(origin)}" if origin not in (None, "null") else "--cors"
    raise Refusal(403, f"pages of other origins may not use this server; to allow it, start hark serve with {allow}")


def is_extension(origin: str | None) -> bool:
    """Whether a request comes from an extension of the browser, which the user has installed."""
    return origin is not None and origin.partition("://")[0].endswith("-extension")


def is_own(origin: str, host: str, settings: ServeSettings) -> bool:
    """Whether an origin is that of this server's page."""
    scheme, _, place = origin.lower().partition("://")
    if scheme not in DEFAULT_PORTS:
        return False
    port = DEFAULT_PORTS[scheme]
    if place.removesuffix(port) == host.lower().removesuffix(port):
        return True
    # Names that a proxy may hide. On this machine, other programs have pages, too.
    return host_name(place) in {host_name(host) for host in settings.allowed_hosts} - LOOPBACK


class SecurityHeaders:
    """Adds the headers that an answer does not have yet."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message.setdefault("headers", [])
                names = {name for name, _ in given}
                message["headers"] = [*given, *((name, value) for name, value in HEADERS if name not in names)]
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class KnownHosts:
    """Passes on requests for the host names that a server answers for."""

    def __init__(self, app: ASGIApp, names: frozenset[str]) -> None:
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = next((value for name, value in scope.get("headers", ()) if name == b"host"), None)
        # Every browser sends the header; clients of HTTP/1.0 need not.
        name = None if given is None else host_name(given.decode("latin-1"))
        if name is None or name in self._names:
            await self._app(scope, receive, send)
        else:
            message = f"unknown host {shown(name)}; to answer for it, start hark serve with --allowed-host"
            await refuse(Refusal(421, message))(scope, receive, send)


def known_hosts(settings: ServeSettings) -> frozenset[str] | None:
    """The host names that a server answers for; None: any, as on a network that it knows no names of."""
    if "*" in settings.allowed_hosts or not (settings.allowed_hosts or is_loopback(settings.host)):
        return None
    # Programs on this machine, such as health checks, use its own names.
    return LOOPBACK | {settings.host} | {host_name(host) for host in settings.allowed_hosts}


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_name(host: str) -> str:
    """The name in a header Host: without the port, the brackets of IPv6 and the final dot, in lower case."""
    host = host.strip().lower()
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return name.removesuffix(".")
