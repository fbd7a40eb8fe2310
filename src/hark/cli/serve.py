"""`hark serve`: a server of models and a page."""

import re
import sys
from pathlib import Path
from typing import Annotated

from hark.cli import options
from hark.cli.options import option, switch
from hark.errors import UserError, require

EXAMPLES = (
    "hark serve --open",
    "hark serve --models ~/models --memory 4G --port 5000",
    "hark serve --api-keys keys.txt --new-key alice",
    "hark serve --host 0.0.0.0 --api-keys keys.txt --max-requests 120",
)
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def serve(
    host: Annotated[str, option("--host", "HOST", "Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, option("--port", "N", "Port to listen on; 0 for any free one.", min=0, max=65535)] = 8000,
    show: Annotated[bool, switch("--open", "Open the page in a browser.")] = False,
    models: Annotated[
        Path | None, option("--models", "FOLDER", "Models to offer; by default the installed ones.")
    ] = None,
    memory: Annotated[
        str | None, option("--memory", "SIZE", "Memory for models, e.g. 4G; by default half of what is free.")
    ] = None,
    runs: Annotated[Path | None, option("--runs", "FOLDER", "Show the training runs in this folder.")] = None,
    api_keys: Annotated[
        Path | None, option("--api-keys", "FILE", "Accept only the keys whose hashes are in a file.")
    ] = None,
    new_key: Annotated[str | None, option("--new-key", "NAME", "Add a key to --api-keys, print it and exit.")] = None,
    cors: Annotated[
        list[str] | None, option("--cors", "URL", "Allow pages of this origin, or * for any. Repeatable.")
    ] = None,
    allowed_host: Annotated[
        list[str] | None, option("--allowed-host", "NAME", "Answer for this host name, too; * for any. Repeatable.")
    ] = None,
    root_path: Annotated[str, option("--root-path", "PATH", "Path at which a reverse proxy serves this.")] = "",
    characters: Annotated[int, option("--max-characters", "N", "Maximum characters of a request.", min=1)] = 50_000,
    document_characters: Annotated[
        int, option("--max-document", "N", "Maximum characters of a document.", min=1)
    ] = 2_000_000,
    batch: Annotated[int, option("--max-batch", "N", "Maximum texts of a request.", min=1)] = 500,
    tokens: Annotated[int, option("--max-tokens", "N", "Maximum tokens of a generated text.", min=1)] = 4_096,
    body: Annotated[str, option("--max-body", "SIZE", "Maximum size of the body of a request.")] = "10M",
    requests: Annotated[
        int, option("--max-requests", "N", "Maximum requests of a client per minute; 0: any.", min=0)
    ] = 0,
    queue: Annotated[int, option("--max-queue", "N", "Maximum requests in progress or waiting.", min=1)] = 1_000,
    threads: options.Threads = None,
) -> None:
    """Serve translations, and other models, to programs and browsers.

    Offers a page, a native API at /api/v1, and APIs for clients of LibreTranslate, DeepL and OpenAI. Needs no network
    and sends nothing anywhere. Logs requests on stderr, without their text. Ctrl-C finishes what was accepted, then
    stops.
    """
    if new_key is not None:
        if api_keys is None:
            raise UserError("--new-key requires --api-keys")
        from hark.serve.admission import add_key

        sys.stdout.write(f"{add_key(api_keys, new_key)}\n")
        return
    for package in ("starlette", "uvicorn", "python_multipart"):
        require(package, "serve", "hark serve")
    for folder in (models, runs):
        if folder is not None and not folder.is_dir():
            raise UserError(f"{folder}: no such folder")
    from hark.serve.server import run
    from hark.serve.settings import ServeSettings

    settings = ServeSettings(
        host=host,
        port=port,
        root_path=check_root_path(root_path),
        models=models,
        runs=runs,
        memory=None if memory is None else parse_size(memory, "--memory"),
        threads=threads,
        api_keys=api_keys,
        cors=tuple(cors or ()),
        allowed_hosts=tuple(map(check_host, allowed_host or ())),
        characters=characters,
        document_characters=document_characters,
        batch=batch,
        tokens=tokens,
        body=parse_size(body, "--max-body"),
        requests_per_minute=requests,
        queue=queue,
    )

    def announce(address: str) -> None:
        sys.stdout.write(f"Serving at {address} (Ctrl-C stops it)\n")
        sys.stdout.flush()
        if show:
            import webbrowser

            webbrowser.open(address)

    run(settings, announce)


def check_host(name: str) -> str:
    """Return a host name or an address, without scheme and port."""
    if not re.fullmatch(r"\*|[\w.-]+|\[?[0-9a-fA-F:.]*::?[0-9a-fA-F:.]*\]?", name):
        raise UserError(f"--allowed-host {name}: not a host name; write one such as translate.example.org")
    return name


def check_root_path(path: str) -> str:
    """Return a path that begins with a slash and does not end with one."""
    if not re.fullmatch(r"[\w./~-]*", path, re.ASCII):
        raise UserError(f"--root-path {path}: not a path; name one such as /translate")
    trimmed = path.strip("/")
    return f"/{trimmed}" if trimmed else ""


def parse_size(text: str, option: str) -> int:
    """Bytes of a size such as 500M or 1.5G."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    size = int(float(match[1]) * UNITS[match[2].upper()]) if match else 0
    if size <= 0:
        raise UserError(f"{option} {text}: not a size; write one such as 500M or 4G")
    return size
