"""Middleware that adds security headers to every answer."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
)
UNCACHED = (b"cache-control", b"no-store")
"""Translations must not stay in a cache on the way. Static files say something else."""


class SecurityHeaders:
    """Adds the headers that an answer does not have yet."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message.setdefault("headers", [])
                names = {name for name, _ in given}
                message["headers"] = [*given, *(each for each in (*HEADERS, UNCACHED) if each[0] not in names)]
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)
