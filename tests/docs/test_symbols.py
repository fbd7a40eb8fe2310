"""Links to code name what they lead to: a link whose text is a function, a class or a test must lead to its file."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import NAMES, ROOT, prose

LINK = re.compile(r"\[`([\w.]+)`\]\(([^)#\s]+\.py)\)")


def code_links(page: Path) -> list[tuple[str, Path]]:
    """Symbols and the files that they are linked to; the name of a file is not a symbol."""
    found = LINK.findall(prose(page))
    return [(name, (page.parent / path).resolve()) for name, path in found if not name.endswith(".py")]


@cache
def symbols(file: Path) -> frozenset[str]:
    """Functions, classes and variables of a module, and those of its classes as `Class.name`."""
    return frozenset(defined(ast.parse(file.read_text(encoding="utf-8")).body))


def defined(body: list[ast.stmt], prefix: str = "") -> set[str]:
    names: set[str] = set()
    for node in body:
        match node:
            case ast.FunctionDef(name=name):
                names.add(prefix + name)
            case ast.ClassDef(name=name, body=inner):
                names |= {prefix + name} | defined(inner, f"{prefix}{name}.")
            case ast.Assign(targets=targets):
                names |= {prefix + each.id for each in targets if isinstance(each, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(prefix + name)
    return names


@pytest.mark.parametrize("name", NAMES)
def test_a_link_to_code_leads_to_the_file_that_defines_it(name: str) -> None:
    for symbol, file in code_links(ROOT / name):
        assert file.exists(), (symbol, file)
        assert symbol in symbols(file), f"{file.relative_to(ROOT)} does not define {symbol}"


def test_the_paper_links_code_and_tests() -> None:
    """Else the test above would pass whatever the page says."""
    links = code_links(ROOT / "docs" / "paper.md")
    tests = {symbol for symbol, file in links if file.is_relative_to(ROOT / "tests")}
    assert len(tests) >= 25
    assert len({symbol for symbol, _ in links} - tests) >= 25
    assert all(symbol.startswith("test_") for symbol in tests)


def test_a_wrong_symbol_is_found(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("LIMIT: int = 3\n\nclass One:\n    def two(self): ...\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[`One.two`](code.py), [`gone`](code.py), [`code.py`](code.py), ``[`not`](a.py)``\n```\n[`x`](y.py)\n```\n"
    )
    assert [name for name, _ in code_links(page)][:2] == ["One.two", "gone"]
    assert symbols(tmp_path / "code.py") == {"LIMIT", "One", "One.two"}
