"""Python in README and docs/ is Python, and imports what exists. Modules are read, not imported."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import NAMES, ROOT, blocks

SOURCE = ROOT / "src"


def names_in(module: str) -> set[str]:
    """What a module of ours defines or imports, and the modules within it."""
    path = SOURCE.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    assert file.exists(), module
    found = {each.stem for each in path.iterdir()} if path.is_dir() else set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.ImportFrom(names=names) | ast.Import(names=names):
                found |= {each.asname or each.name for each in names}
    return found


def missing(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.split(".")[0] == "hark":
                known = names_in(module)
                yield from (f"{module}.{each.name}" for each in names if each.name not in known)
            case ast.Attribute(value=ast.Name(id="hark"), attr=name) if name not in names_in("hark"):
                yield f"hark.{name}"


def trees(page: Path) -> Iterator[ast.AST]:
    for block in blocks(page):
        if block.language == "python":
            yield ast.parse(block.text)


@pytest.mark.parametrize("name", NAMES)
def test_snippets_import_what_exists(name: str) -> None:
    assert [wrong for tree in trees(ROOT / name) for wrong in missing(tree)] == []


def test_there_are_snippets() -> None:
    assert sum(1 for name in NAMES for _ in trees(ROOT / name)) >= 8


def test_a_wrong_import_is_found() -> None:
    tree = ast.parse("import hark\nfrom hark.config import Config, Confit\nhark.lode()\n")
    assert list(missing(tree)) == ["hark.config.Confit", "hark.lode"]
