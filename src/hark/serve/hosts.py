"""Middleware that refuses requests for unknown host names, against DNS rebinding.

A page of another site can let its own name resolve to 127.0.0.1. To the browser, a server on this machine then has
the same origin as that page, which could read what it answers. Only the header Host tells the two apart.
"""

import ipaddress

from starlette.types import ASGIApp, Receive, Scope, Send

from hark.serve.bodies import shown
from hark.serve.native import refuse
from hark.serve.refusal import Refusal
from hark.serve.settings import ServeSettings

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
ANY = "*"


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
    if ANY in settings.allowed_hosts or not (settings.allowed_hosts or is_loopback(settings.host)):
        return None
    # Programs on this machine, such as health checks, use its own names.
    return LOOPBACK | {settings.host} | {host_name(each) for each in settings.allowed_hosts}


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
