"""Admits requests: checks API keys and the rate of each client."""

from starlette.requests import Request

from hark.serve.keys import Keys
from hark.serve.rates import Rates
from hark.serve.refusal import Refusal
from hark.serve.settings import ServeSettings

SCHEMES = ("bearer", "deepl-auth-key")


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
