"""The files of the page over HTTP: types, caching, policy, and nothing else from the disk."""

import re

import pytest

from hark.serve.page import HERE, LOOK
from tests.serve.conftest import TestServer

ADDRESS = re.compile(r'(?:src|href)="(page/[^"]+)"')


def test_the_page_and_its_files_have_types_and_may_be_kept(server: TestServer) -> None:
    index = server.get("/")
    assert index.headers["content-type"] == "text/html; charset=utf-8"
    assert index.headers["cache-control"] == "no-cache"
    assert "script-src 'self'" in index.headers["content-security-policy"]
    addresses = ADDRESS.findall(index.text)
    assert len(addresses) >= 5
    types = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
    for address in addresses:
        answer = server.get(f"/{address}")
        assert answer.status_code == 200, address
        assert answer.headers["content-type"] == types[address.rpartition(".")[2]]
        assert "immutable" in answer.headers["cache-control"]
        again = server.get(f"/{address}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    again = server.get("/", headers={"If-None-Match": index.headers["etag"]})
    assert again.status_code == 304


def test_a_page_of_an_older_version_still_gets_its_files_but_does_not_keep_them(server: TestServer) -> None:
    answer = server.get("/page/0123456789/main.js")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "vendor",
        "vendor/",
        "look",
        "index.html",
        "%2e%2e/page.py",
        "..%2f..%2fpage.py",
        "look%2f%2e%2e%2fmain.js",
        "x.js",
    ],
)
def test_there_is_no_listing_and_no_other_file(server: TestServer, path: str) -> None:
    assert server.get(f"/page/0/{path}").status_code == 404


def test_nothing_inline_and_nothing_from_elsewhere() -> None:
    """The policy forbids inline scripts and styles, also as attributes in templates."""
    for file in [*HERE.glob("*.js"), *HERE.glob("*.css"), HERE / "index.html"]:
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"\sstyle=|\son\w+=\"|<style|innerHTML|unsafeHTML", text), file.name
        assert not re.search(r"https?://", text), file.name
    assert not re.search(r"<script(?![^>]*\ssrc=)", (HERE / "index.html").read_text(encoding="utf-8"))


def test_every_import_exists_and_third_party_code_has_a_licence() -> None:
    for file in [*HERE.glob("*.js"), *LOOK.glob("*.js")]:
        for name in re.findall(r"(?:from |import\()\"(\./[^\"]+)\"", file.read_text(encoding="utf-8")):
            folder = LOOK.parent if name.startswith("./look/") else file.parent
            path = folder / name.replace("./look/", "page/")
            assert path.is_file(), f"{file.name}: {name}"
    vendor = HERE / "vendor"
    versions = (vendor / "README.md").read_text(encoding="utf-8")
    assert {each.name for each in vendor.iterdir()} == {
        "README.md", "lit-html.js", "lit-html.LICENSE", "uplot.js", "uplot.css", "uplot.LICENSE",
    }  # fmt: skip
    assert "(v1.6.32)" in (vendor / "uplot.js").read_text(encoding="utf-8")[:400]
    assert "uplot 1.6.32" in versions
