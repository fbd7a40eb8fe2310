"""Layering: lower packages never import upper ones, and some do not import heavy dependencies."""

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import hark

HOUSE = Path(hark.__file__).parent

ROOMS = {
    "errors": 0,
    "atomic": 0,
    "manifest": 0,
    "machine": 0,
    "userfiles": 0,
    "settings": 0,
    "config": 0,
    "text_config": 0,
    "configfile": 0,
    "recipes": 0,
    "facts": 0,
    "card": 0,
    "bundle": 0,
    "rundir": 0,
    "weights": 1,
    "shortlist": 1,
    "text": 1,
    "pages": 1,
    "models": 1,
    "model": 1,
    "data": 2,
    "train": 2,
    "engine": 2,
    "translate": 3,
    "monitor": 3,
    "distil": 3,
    "evaluate": 3,
    "inspect": 3,
    "exchange": 4,
    "documents": 4,
    "parse": 4,
    "tasks": 4,
    "serve": 4,
    "reproduce": 5,
    "cli": 6,
    "__main__": 6,
}

STANDARD_LIBRARY_ONLY = {room for room, floor in ROOMS.items() if floor == 0}
FORBIDDEN = {
    "weights": {"torch"},
    "shortlist": {"torch"},
    "text": {"torch"},
    "pages": {"torch"},
    "monitor": {"torch"},
    "data": {"torch"},
    "model": {"numpy", "sentencepiece", "rich", "typer"},
    "cli": {"torch", "numpy", "rich", "sentencepiece", "ctranslate2"},  # at the top of a verb's file: start at once
}
NEVER = {
    ("train", "engine"),
    ("engine", "train"),
    ("engine", "translate"),
    ("train", "translate"),
    ("model", "text"),
    ("text", "model"),
}

FILES = sorted(HOUSE.rglob("*.py"))


def room_of(file: Path) -> str:
    return file.relative_to(HOUSE).with_suffix("").parts[0]


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module imported anywhere in the file, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def names_in(source: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The imports of a file and its classes: parsing all files takes a second."""
    tree = ast.parse(source)
    return tuple(imported(tree)), tuple(node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def imports_of(source: str) -> tuple[str, ...]:
    return names_in(source)[0]


def upward(file: Path, source: str) -> list[str]:
    """Imports of packages above the file's own, or of forbidden ones."""
    here, wrong = room_of(file), []
    for name in imports_of(source):
        parts = name.split(".")
        if parts[0] != "hark" or len(parts) < 2 or parts[1] not in ROOMS:
            continue
        if ROOMS[parts[1]] > ROOMS[here] or (here, parts[1]) in NEVER:
            wrong.append(name)
    return wrong


def test_no_room_imports_an_upper_one() -> None:
    wrong = {file: upward(file, file.read_text()) for file in FILES if room_of(file) != "__init__"}
    assert {str(file.relative_to(HOUSE)): names for file, names in wrong.items() if names} == {}


DOORS = {"interface", "opening", "torch", "ctranslate2", "watch"}
"""The modules of the engine that other rooms use."""


def test_other_rooms_use_the_doors_of_the_engine() -> None:
    found = {
        (str(file.relative_to(HOUSE)), name)
        for file in FILES
        if room_of(file) != "engine"
        for name in imports_of(file.read_text())
        if name.startswith("hark.engine.") and name.split(".")[2] not in DOORS
    }
    assert found == set()


def test_the_walk_sees_an_upward_import() -> None:
    assert upward(HOUSE / "model" / "attention.py", "def f():\n    from hark.train.loss import smooth") == [
        "hark.train.loss",
        "hark.train.loss.smooth",
    ]
    assert upward(HOUSE / "train" / "loop.py", "import hark.translate") == ["hark.translate"]


def modules_in(folder: Path, package: str) -> dict[str, Path]:
    return {
        ".".join((package, *file.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__"): file
        for file in folder.rglob("*.py")
    }


def imports_within(modules: dict[str, Path], file: Path) -> set[str]:
    """The modules of a package that a file imports, except under TYPE_CHECKING."""
    source = file.read_text()
    names: Iterable[str] = imports_of(source)
    if "TYPE_CHECKING" in source:
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
                node.body = [ast.Pass()]
        names = imported(tree)
    whole = {name for name in names if name in modules}
    # `from hark.text import clauses` also yields the package, but means the module.
    return whole - {name.rpartition(".")[0] for name in whole}


@pytest.mark.parametrize(("folder", "package"), [(HOUSE, "hark"), (HOUSE.parents[1] / "benchmarks", "benchmarks")])
def test_no_modules_import_each_other_in_a_circle(folder: Path, package: str) -> None:
    modules = modules_in(folder, package)
    graph = {name: imports_within(modules, file) - {name} for name, file in modules.items()}
    while leaves := [name for name, needs in graph.items() if not needs]:
        graph = {name: needs - set(leaves) for name, needs in graph.items() if name not in leaves}
    assert graph == {}


def test_class_names_are_unique() -> None:
    names = [name for file in FILES for name in names_in(file.read_text())[1]]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_every_file_is_in_a_known_room() -> None:
    assert {room_of(file) for file in FILES} <= {*ROOMS, "__init__"}


def heavy_imports(file: Path) -> set[str]:
    """Packages that a file imports although its room must do without them."""
    names: Iterable[str] = imports_of(file.read_text())
    if room_of(file) == "cli":  # a verb may import what it needs when it runs
        body = ast.parse(file.read_text()).body
        names = imported(ast.Module([node for node in body if isinstance(node, ast.Import | ast.ImportFrom)], []))
    packages = {name.split(".")[0] for name in names}
    if room_of(file) in STANDARD_LIBRARY_ONLY:
        return packages - {*sys.stdlib_module_names, "hark"}
    return packages & FORBIDDEN.get(room_of(file), set())


def test_light_rooms_import_nothing_heavy() -> None:
    found = {str(file.relative_to(HOUSE)): heavy_imports(file) for file in FILES}
    assert {name: packages for name, packages in found.items() if packages} == {}


SPECIAL_IDS = {"PAD", "UNK", "BOS", "EOS", "SPECIAL"}


def test_only_text_knows_special_ids_by_name() -> None:
    """Other packages use the vocabulary's (`hark.text.vocabulary.SpecialIds`)."""
    found = set()
    for file in FILES:
        names = {name.rpartition(".") for name in imports_of(file.read_text())}
        known = any(module.startswith("hark.text") and name in SPECIAL_IDS for module, _, name in names)
        if known and room_of(file) != "text":
            found.add(file.relative_to(HOUSE).as_posix())
    assert found == set()


def test_no_vague_rooms() -> None:
    vague = {"utils", "util", "common", "helpers", "helper", "misc", "manager"}
    assert not vague & {file.stem for file in FILES}
