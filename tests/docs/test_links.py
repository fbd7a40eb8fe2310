"""Links and paths in README and docs/ lead to something that exists."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import NAMES, ROOT, anchor, anchors, links, spans

GENERATED = {"docs/reference/settings.md", "docs/reference/command-line.md"}
"""Pages whose headings come from the code; the strict build of the site checks links to them."""
PACKAGE = ROOT / "src" / "hark"
FOLDERS = {path.name for folder in (ROOT, PACKAGE) for path in folder.iterdir() if path.is_dir()}
A_PATH = re.compile(r"([\w.-]+)/[\w./-]+\.(py|sh|toml|md|js|tsv|txt|jsonl|json|svg|png|npz)")


@pytest.mark.parametrize("name", NAMES)
def test_every_relative_link_leads_to_a_file_and_a_heading(name: str) -> None:
    page = ROOT / name
    for link in links(page):
        if "://" in link:
            continue
        path, _, heading = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if heading and str(target.relative_to(ROOT)) not in GENERATED:
            assert heading in anchors(target), link


@pytest.mark.parametrize("name", NAMES)
def test_every_path_that_a_page_names_exists(name: str) -> None:
    """In the repository, or in the package: `text/segments.py`."""
    for span in spans(ROOT / name):
        for word in span.split():
            found = A_PATH.fullmatch(word)
            if found and found[1] in FOLDERS:
                assert any((folder / word).exists() for folder in (ROOT, PACKAGE, PACKAGE / "decode")), word


@pytest.mark.parametrize("name", ["runs", "datasets"])
def test_names_of_examples_are_no_paths_that_must_exist(name: str) -> None:
    """`runs/mine/best` is a user's; a folder of ours with that name would let the test above look for it."""
    assert not (PACKAGE / name).exists()


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One: `two`\n\n[there](other.md#three) and `[not](a-link)`\n\n```\n[nor](this)\n```\n")
    assert links(page) == ["other.md#three"]
    assert anchors(page) == {anchor("One: two")} == {"one-two"}


def test_every_log_and_picture_is_linked_from_a_page() -> None:
    """What no page links is of no published figure: it goes, or a page says what it is."""
    docs = ROOT / "docs"
    kept = {path for folder in ("results", "pictures") for path in (docs / folder).rglob("*") if path.is_file()}
    linked = {
        ((ROOT / name).parent / link.partition("#")[0]).resolve() for name in NAMES for link in links(ROOT / name)
    }
    assert sorted(str(path) for path in kept - linked if path.suffix != ".md") == []
