"""Serves the page: its files, held in memory, and those of the look-inside component.

The addresses of all files but the first contain a digest of their content, so that browsers may keep them for good and
still get new ones with a new version. Requests are looked up in a table: there is no path to the disk.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from hark.documents.formats import FORMATS
from hark.serve.service import Service
from hark.serve.settings import ServeSettings
from hark.serve.texts import shape_of

HERE = Path(__file__).parent / "page"
LOOK = Path(__file__).parents[1] / "inspect" / "page"  # a path: importing hark.inspect would require torch
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
PLAIN = "text/plain; charset=utf-8"
FOREVER = "public, max-age=31536000, immutable"
CHECK = "no-cache"  # keep it, and ask whether it is still the same


@dataclass(frozen=True)
class Asset:
    """A file of the page."""

    content: bytes
    media_type: str
    etag: str

    @classmethod
    def of(cls, content: bytes, name: str) -> "Asset":
        return cls(content, TYPES.get(Path(name).suffix, PLAIN), f'"{digest(content)}"')


def routes(service: Service, settings: ServeSettings) -> list[Route]:
    assets = read_assets()
    version = digest(*(asset.content for _, asset in sorted(assets.items())))
    html = (HERE / "index.html").read_text(encoding="utf-8")
    values = {
        "assets": f"page/{version}",
        "runs": str(settings.runs is not None).lower(),
        "translates": str(bool(service.shelf.offered)).lower(),
        "writes": str(any(shape_of(each.folder) == "decoder" for each in service.shelf.texts.values())).lower(),
        "formats": " ".join(FORMATS),
        "body": str(settings.body),
    }
    index = Asset.of(Template(html).substitute(values).encode(), "index.html")

    async def get_index(request: Request) -> Response:
        return answer(request, index, CHECK)

    async def get_asset(request: Request) -> Response:
        asset = assets.get(request.path_params["path"])
        if asset is None:
            return PlainTextResponse("not found\n", 404)
        # A page that was opened before an update still asks by the old digest.
        return answer(request, asset, FOREVER if request.path_params["version"] == version else CHECK)

    return [Route("/", get_index), Route("/page/{version}/{path:path}", get_asset)]


def read_assets() -> Mapping[str, Asset]:
    """All files by their names in addresses."""
    folders = {"": HERE, "look/": LOOK}
    return {
        prefix + path.relative_to(folder).as_posix(): Asset.of(path.read_bytes(), path.name)
        for prefix, folder in folders.items()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "index.html" and not path.name.startswith(".")
    }


def digest(*contents: bytes) -> str:
    return hashlib.sha256(b"".join(contents)).hexdigest()[:20]


def answer(request: Request, asset: Asset, caching: str) -> Response:
    headers = {"ETag": asset.etag, "Cache-Control": caching}
    known = request.headers.get("If-None-Match", "")
    if asset.etag in (tag.strip().removeprefix("W/") for tag in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(asset.content, media_type=asset.media_type, headers=headers)
