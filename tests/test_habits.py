"""Habits that keep the house easy to read: short files, few of them, and the field's own words."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import hark

HOUSE = Path(hark.__file__).parent
FILES = sorted(HOUSE.rglob("*.py"))
MAX_LINES = 480
MAX_FILES = 423
DIALECT = {
    "tenant": "slot",
    "surprise": "nll",
    "wish": "options",
    "nowhere": "padding",
    "remember": "prefill",
    "stuff": "a noun that says what it is",
    "thing": "a noun that says what it is",
}
"""Words that a stranger would have to look up, and what to write instead."""


def names_of(tree: ast.AST) -> Iterator[str]:
    """The names that a file gives to functions, classes, parameters and variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def words_of(name: str) -> set[str]:
    """The words in a name: `readTheWish`, `read_the_wish` and `READ_THE_WISH` have three."""
    return {word.lower().removesuffix("s") for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_no_file_is_too_long_to_read_at_once() -> None:
    lines = {file.relative_to(HOUSE).as_posix(): len(file.read_text().splitlines()) for file in FILES}
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}


def test_one_idea_has_one_file() -> None:
    assert len(FILES) <= MAX_FILES


def test_names_are_words_of_the_field() -> None:
    found = {
        (file.relative_to(HOUSE).as_posix(), name, DIALECT[word])
        for file in FILES
        for name in names_of(ast.parse(file.read_text()))
        for word in words_of(name) & DIALECT.keys()
    }
    assert found == set()


def test_the_walk_sees_words_in_names() -> None:
    names = set(names_of(ast.parse("class ReadWish:\n    def f(self, THE_TENANTS):\n        nowhere = 1\n")))
    assert {word for name in names for word in words_of(name) & DIALECT.keys()} == {"wish", "tenant", "nowhere"}


def test_a_release_has_one_version() -> None:
    root = HOUSE.parents[1]
    (newest,) = re.findall(r"^## (\d\S*) - \d{4}-\d\d-\d\d$", (root / "CHANGELOG.md").read_text(), re.MULTILINE)[:1]
    (cited,) = re.findall(r"^version: (\S+)$", (root / "CITATION.cff").read_text(), re.MULTILINE)
    assert newest == cited == hark.__version__
