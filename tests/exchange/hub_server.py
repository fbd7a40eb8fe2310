"""A local stand-in for the Hugging Face hub: answers huggingface_hub's requests for one model over HTTP."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

REVISION = "0123456789abcdef0123456789abcdef01234567"
LARGE = (".safetensors", ".bin")
"""Files that the hub stores by their sha256; others have git's hash."""


@dataclass
class HubServer:
    """One model, and what was asked for."""

    name: str
    files: dict[str, bytes]
    address: str = ""
    requests: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    """The Range headers of downloads."""
    cut: dict[str, int] = field(default_factory=dict)
    """How often the connection breaks in the middle of a file."""
    damaged: set[str] = field(default_factory=set)
    """Files that arrive with one byte changed."""

    def entries(self) -> list[dict[str, Any]]:
        return [self.entry(name, content) for name, content in self.files.items()]

    def entry(self, name: str, content: bytes) -> dict[str, Any]:
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        found: dict[str, Any] = {"size": len(content), "oid": blob, "blobId": blob}
        if name.endswith(LARGE):
            sha256 = hashlib.sha256(content).hexdigest()
            found["lfs"] = {"oid": sha256, "sha256": sha256, "size": len(content), "pointerSize": 130}
        return found | {"type": "file", "path": name, "rfilename": name}

    def etag(self, name: str) -> str:
        entry = self.entry(name, self.files[name])
        return str(entry.get("lfs", {}).get("sha256") or entry["blobId"])


def handler(hub: HubServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, body: bool) -> None:
            path = self.path.partition("?")[0]
            hub.requests.append(f"{self.command} {path}")
            if re.fullmatch(rf"/api/models/{hub.name}(/revision/\w+)?", path):
                about = {"id": hub.name, "modelId": hub.name, "sha": REVISION, "siblings": hub.entries()}
                self.send(json.dumps(about).encode(), body, {"Content-Type": "application/json"})
            elif path.startswith(f"/api/models/{hub.name}/tree/"):
                self.send(json.dumps(hub.entries()).encode(), body, {"Content-Type": "application/json"})
            elif path.startswith(f"/{hub.name}/resolve/") and path.rpartition("/")[2] in hub.files:
                self.send_file(path.rpartition("/")[2], body)
            else:
                self.send(b"{}", body, {"X-Error-Code": "RepoNotFound"}, 404)

        def send_file(self, name: str, body: bool) -> None:
            content, etag = hub.files[name], hub.etag(name)
            if name in hub.damaged:
                content = content[:-1] + bytes([content[-1] ^ 1])
            headers = {"ETag": f'"{etag}"', "X-Repo-Commit": REVISION, "Accept-Ranges": "bytes"}
            status = 200
            if body and (asked := self.headers.get("Range")):
                hub.ranges.append(asked)
                first = int(asked.removeprefix("bytes=").partition("-")[0])
                headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
                content, status = content[first:], 206
            cut = body and hub.cut.get(name, 0) > 0
            if cut:
                hub.cut[name] -= 1
            self.send(content, body, headers, status, len(content) // 2 if cut else None)

        def send(
            self, content: bytes, body: bool, headers: dict[str, str], status: int = 200, until: int | None = None
        ) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if body:
                self.wfile.write(content[:until])
            if until is not None:
                self.close_connection = True

    return Handler


@contextmanager
def serve_model(name: str, folder: Path) -> Iterator[HubServer]:
    """Serve the files of a folder as a model of this name."""
    hub = HubServer(name, {path.name: path.read_bytes() for path in sorted(folder.iterdir())})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(hub))
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    # It looks this often, in seconds, whether it is to stop; by default twice a second.
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
