"""Protects the server from pages of other origins: refuses their requests, and adds security headers to every answer.

Any page that somebody opens can send forms and plain text to a server on this machine (CSRF). It cannot read the
answers, but could fill the disk and the queue. Browsers say where such a request comes from, in headers that no page
can change. A page can also let its own name resolve to 127.0.0.1 (DNS rebinding): to the browser, the server then has
the same origin as that page, which could read what it answers. Only the header Host tells the two apart.
"""

import ipaddress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hark.serve.bodies import Refusal, shown
from hark.serve.native import refuse
from hark.serve.settings import ServeSettings

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
