"""The site of the documentation: it builds without a warning, shows what the code says, and needs no network."""

import logging
import re
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

from hark import configfile
from hark.cli import VERBS
from hark.config import Config
from tests.docs.pages import ROOT

LOADED = re.compile(r'<(?:script|img|link|iframe)\b[^>]*?(?:src|href)="(https?:[^"]*)"')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` does it; in strict mode any warning, such as a dead link or heading, is an error."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("NO_MKDOCS_2_WARNING", "1")
        patched.chdir(ROOT)
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder))
        assert config.strict
        logging.getLogger("mkdocs").setLevel(logging.WARNING)
        build(config)
    return folder


def text_of(page: Path) -> str:
    return re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")).replace("&quot;", '"')


def test_every_setting_is_explained(site: Path) -> None:
    text = (site / "reference" / "settings.html").read_text(encoding="utf-8")
    shown = set(re.findall(r"<td><code>(\w+)</code></td>", text))
    assert shown >= {each.key.rpartition(".")[2] for each in configfile.explain(Config())}
    sections = re.findall(r'<h2 id="([^"]+)"', text)
    assert len(sections) == len(set(sections))
    assert "data.clean" in text_of(site / "reference" / "settings.html")


def test_every_verb_is_explained(site: Path) -> None:
    text = text_of(site / "reference" / "command-line.html")
    assert all(f"Usage: hark {verb} " in text for verb in VERBS)


def test_the_python_api_is_read_from_the_code(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for name in ("hark.load", "hark.look", "hark.translate.load.Loaded.translate", "hark.errors.UserError"):
        assert f'id="{name}"' in text


def test_nothing_is_loaded_from_a_server(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 25
    assert {found for page in pages for found in LOADED.findall(page.read_text(encoding="utf-8"))} == set()
    assert (site / "offline-worker.js").exists()
    assert 'src="../offline-worker.js"' in (site / "reference" / "python.html").read_text(encoding="utf-8")


def test_pages_outside_docs_become_pages_of_the_site(site: Path) -> None:
    assert "<h1" in (site / "architecture.html").read_text(encoding="utf-8")
    assert 'href="architecture.html"' in (site / "how-it-works.html").read_text(encoding="utf-8")
