"""mkdocs hook that generates pages of the documentation from the code (configured in mkdocs.yml).

A comment in a page of docs/reference, such as `<!-- generated: settings -->`, is replaced by its content: the settings
from `hark.config`, the command line from the help of each verb. ARCHITECTURE.md, CONTRIBUTING.md and CHANGELOG.md at
the root of the repository become pages too.
"""

import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from hark import configfile
from hark.cli import VERBS, app
from hark.config import Config, CorpusConfig

ROOT = Path(__file__).parent.parent
ROOT_PAGES = {name: name.lower() for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")}
"""Files at the root of the repository, and their pages."""
MARKER = re.compile(r"<!-- generated: ([a-z ]+) -->")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
ONLINE_WORKER = "https://unpkg.com/iframe-worker/shim"
"""A script that the theme's offline plugin loads from a server; replaced by `OFFLINE_WORKER`."""
OFFLINE_WORKER = "offline-worker.js"
HEAD_OF_SETTINGS = ["| setting | default | allowed | meaning |", "| --- | --- | --- | --- |"]
HELP_WIDTH = 100
"""Width of the help texts in columns."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside docs/."""
    for source, page in ROOT_PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=move_links(text, from_file=source, to_page=page)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Insert generated content, and point links to files outside docs/ to their pages."""
    markdown = MARKER.sub(lambda found: GENERATED[found[1]](), markdown)
    uri = page.file.src_uri
    return markdown if uri in ROOT_PAGES.values() else move_links(markdown, from_file=f"docs/{uri}", to_page=uri)


def on_post_build(config: MkDocsConfig) -> None:
    """Replace scripts that would be loaded from a server."""
    site = Path(config.site_dir)
    for path in site.rglob("*.html"):
        up = "../" * (len(path.relative_to(site).parts) - 1)
        html = path.read_text(encoding="utf-8")
        path.write_text(html.replace(ONLINE_WORKER, up + OFFLINE_WORKER), encoding="utf-8")


def move_links(markdown: str, from_file: str, to_page: str) -> str:
    """Rewrite the relative links of a file in the repository for a page of the site.

    A link to a file that is not a page, such as source code, becomes plain text.
    """

    def move(found: re.Match[str]) -> str:
        text, target = found.groups()
        path, _, anchor = target.partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return found[0]
        in_repository = posixpath.normpath(posixpath.join(posixpath.dirname(from_file), path))
        moved = {**ROOT_PAGES, "README.md": "index.md"}.get(in_repository, in_repository.removeprefix("docs/"))
        if moved == in_repository:
            return str(text)
        relative = posixpath.relpath(moved, posixpath.dirname(to_page) or ".")
        return f"[{text}]({relative}{'#' if anchor else ''}{anchor})"

    return LINK.sub(move, markdown)


def settings_page() -> str:
    """Generate a table for each section of the settings."""
    sections: dict[str, list[str]] = {}
    for each in (*configfile.explain(Config()), *configfile.explain_members(CorpusConfig, "data.train[].")):
        section, _, name = each.key.rpartition(".")
        row = f"| `{name}` | `{cell(each.default)}` | {cell(each.allowed)} | {cell(each.meaning)} |"
        sections.setdefault(section, []).append(row)
    parts: list[str] = []
    for section, rows in sections.items():
        parts += [f"## {section}", "", *HEAD_OF_SETTINGS, *rows, ""]
    parts.append("The tables of `data.dev` and `data.test` are like those of `data.train`, without `weight`.")
    return "\n".join(parts)


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def command_line_page() -> str:
    """Generate the help of hark and of each verb."""
    group: Any = typer.main.get_command(app)
    root = group.make_context("hark", [], resilient_parsing=True, max_content_width=HELP_WIDTH)
    parts = ["## hark", "", *fenced(root.get_help())]
    for verb in VERBS:
        command = group.get_command(root, verb)
        width = {"max_content_width": HELP_WIDTH, "terminal_width": HELP_WIDTH}
        context = command.make_context(verb, [], parent=root, resilient_parsing=True, **width)
        parts += [f"## hark {verb}", "", *fenced(context.get_help())]
    return "\n".join(parts)


def fenced(text: str) -> list[str]:
    return ["```text", text.rstrip(), "```", ""]


GENERATED: dict[str, Callable[[], str]] = {"settings": settings_page, "command line": command_line_page}
