"""Tells requests of pages of other origins from those of this server's page and of programs (CSRF).

Any page that somebody opens can send forms and plain text to a server on this machine. It cannot read the answers, but
could fill the disk and the queue. Browsers say where such a request comes from, in headers that no page can change.
"""

from starlette.datastructures import Headers
from starlette.types import Scope

from hark.serve.bodies import shown
from hark.serve.hosts import LOOPBACK, host_name
from hark.serve.refusal import Refusal
from hark.serve.settings import ServeSettings

SAFE = ("GET", "HEAD", "OPTIONS")
"""Methods that change and compute nothing, unless an API says that they do."""
OWN = ("same-origin", "none")
"""Values of Sec-Fetch-Site of a request of the page of this server, and of one by the user or an extension."""
DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def refuse_foreign(scope: Scope, settings: ServeSettings) -> None:
    """Refuse a request of a page of another origin, unless `cors` allows that origin."""
    headers = Headers(scope=scope)
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site")
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
    return host_name(place) in {host_name(each) for each in settings.allowed_hosts} - LOOPBACK
