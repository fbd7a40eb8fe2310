"""The settings of the server: where it listens, what it offers, and its limits."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ServeSettings:
    """All flags and limits. A limit of 0 means no limit only where it says so."""

    host: str = "127.0.0.1"
    port: int = 8000
    """0: any free port."""
    root_path: str = ""
    """The path under which a reverse proxy serves this application, such as /translate."""
    models: Path | None = None
    """A folder of models; None: the installed ones, which include those that come with hark."""
    runs: Path | None = None
    """A folder of training runs to show; None: none."""
    memory: int | None = None
    """Bytes of memory for models; None: half of what is available."""
    threads: int | None = None
    """CPU threads; None: one per core."""
    api_keys: Path | None = None
    """A file of hashed API keys; None: no key is needed, and all are accepted."""
    cors: tuple[str, ...] = ()
    """Origins whose pages may use this server; `*` for any."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names to answer for in addition to those of this machine, or `*` for any. Empty: any, unless `host` is a
    loopback address."""
    state: Path | None = None
    """A folder for what must survive a restart, such as glossaries; None: `serve` in hark's data folder."""

    characters: int = 50_000
    """Maximum characters of a request."""
    document_characters: int = 2_000_000
    """Maximum characters of a document."""
    batch: int = 500
    """Maximum texts of a request, or of its answer."""
    tokens: int = 4_096
    """Maximum tokens of a text that continues a prompt."""
    nbest: int = 10
    """Maximum translations of a text."""
    body: int = 10 << 20
    """Maximum bytes of the body of a request."""
    bodies: int = 256 << 20
    """Maximum bytes of the bodies of all requests in progress."""
    requests_per_minute: int = 0
    """Maximum requests of one client per minute; 0: no limit."""
    queue: int = 1_000
    """Maximum requests that are being translated or wait for it."""
    queue_characters: int = 4_000_000
    """Maximum characters of them together. Bulk requests may use half of it, so that interactive ones find room."""
    connections: int = 4_000
    """Maximum open connections. Beyond it, the connection that has been idle longest is closed."""
    header_seconds: float = 20.0
    """Time in which a client must send the headers of a request, also of the first one."""
    body_seconds: float = 30.0
    """Time in which a client must send each part of a body."""
    send_seconds: float = 60.0
    """Time in which a client must accept each part of an answer."""
    shutdown_seconds: float = 60.0
    """Time to finish accepted requests at shutdown."""
    patience_seconds: float = 4.0
    """Time after which an unfinished answer to a client of another API begins with spaces. DeepL's client gives up if
    nothing comes for 10 seconds."""
