"""Reading and writing of `facts.json`: strict on reading, without defaults on writing. Standard library only."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from hark.errors import UserError
from hark.facts import FORMAT, MINOR, FactError, Facts, VocabularyFacts

NAME = "facts.json"


def load(path: Path) -> Facts:
    """Read facts from a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text (byte {error.start})") from None
    try:
        return parse(text)
    except FactError as error:
        raise UserError(f"{path}: {error}") from None


def parse(text: str) -> Facts:
    """Parse facts strictly; `FORMAT` explains the handling of unknown keys."""
    try:
        tree = json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        raise FactError("file", f"not valid JSON: {error}") from None
    if not isinstance(tree, dict):
        raise FactError("file", "must be a JSON object")
    version, minor = tree.pop("format", None), tree.get("minor", 0)
    if version != FORMAT:
        raise FactError("format", f"{version} is not supported, only {FORMAT}; update hark")
    newer = isinstance(minor, int) and minor > MINOR
    return _build(Facts, tree, "", ignore_unknown=newer)


def dump(facts: Facts) -> str:
    """The facts as JSON; `parse(dump(facts)) == facts`. Omits defaults, except those of the vocabulary."""
    if facts.minor > MINOR:
        raise UserError(
            f"the model's facts are from a newer hark (format {FORMAT}.{facts.minor}, this one has {FORMAT}.{MINOR}) "
            "and would lose information; update hark to change this model"
        )
    facts.check()
    vocabulary = {"kind": facts.vocabulary.kind, "language_tags": facts.vocabulary.language_tags}
    head = {"format": FORMAT, "minor": MINOR, "pairs": [], "vocabulary": {**vocabulary, **_plain(facts.vocabulary)}}
    tree = {**head, **_plain(replace(facts, vocabulary=VocabularyFacts(), minor=MINOR))}
    return json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid in JSON")


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        changed = {each.name: getattr(value, each.name) for each in fields(value) if not _is_default(each, value)}
        return {name: _plain(inner) for name, inner in changed.items()}
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


def _is_default(each: Any, value: Any) -> bool:
    default = each.default if each.default_factory is MISSING else each.default_factory()
    return default is not MISSING and getattr(value, each.name) == default


Built = TypeVar("Built")


def _build(kind: type[Built], tree: Any, key: str, ignore_unknown: bool) -> Built:
    """Build a dataclass from a JSON object."""
    if not isinstance(tree, dict):
        raise FactError(key, f"must be an object, not {_shown(tree)}")
    kinds, required = _declared(cast(Any, kind))
    for name in tree:
        if name not in kinds and not ignore_unknown:
            raise FactError(_under(key, name), f"no such fact; choose from {', '.join(kinds)}")
    for name in required:
        if name not in tree:
            raise FactError(_under(key, name), "is missing")
    values = {
        name: _convert(kinds[name], value, _under(key, name), ignore_unknown)
        for name, value in tree.items()
        if name in kinds
    }
    built = kind(**values)
    check = getattr(built, "check", None)
    if check is not None:
        try:
            check()
        except FactError as error:
            raise FactError(_under(key, error.key), error.problem) from None
    return built


@cache  # the facts of one model have hundreds of objects of a few kinds
def _declared(kind: type) -> tuple[Mapping[str, Any], Sequence[str]]:
    """The types of a dataclass's fields by name, and the fields without a default."""
    required = [each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING]
    return get_type_hints(kind), required


@cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...], bool]:
    """The origin and the arguments of a type, and whether it is a dataclass."""
    return get_origin(kind), get_args(kind), is_dataclass(kind)


def _convert(kind: Any, value: Any, key: str, ignore_unknown: bool) -> Any:
    """Convert a JSON value to the declared type of a field."""
    origin, inner, has_fields = _parts(kind)
    if origin in (Union, UnionType):
        (kind,) = (each for each in inner if each is not type(None))
        return None if value is None else _convert(kind, value, key, ignore_unknown)
    if has_fields:
        return _build(cast(Any, kind), value, key, ignore_unknown)
    if origin is Literal:
        if value not in inner:
            raise FactError(key, f"must be {' or '.join(inner)}, not {_shown(value)}")
        return value
    if origin is dict:
        if not isinstance(value, dict):
            raise FactError(key, f"must be an object, not {_shown(value)}")
        return {name: _convert(inner[1], each, _under(key, name), ignore_unknown) for name, each in value.items()}
    if origin is tuple:
        return _convert_list(inner, value, key, ignore_unknown)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:  # not isinstance: bool is a subclass of int
        expected = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}[kind]
        raise FactError(key, f"must be {expected}, not {_shown(value)}")
    return value


def _convert_list(inner: tuple[Any, ...], value: Any, key: str, ignore_unknown: bool) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise FactError(key, f"must be a list, not {_shown(value)}")
    kinds: Sequence[Any] = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
    if len(kinds) != len(value):
        raise FactError(key, f"must have {len(kinds)} items, not {len(value)}")
    return tuple(
        _convert(kind, each, f"{key}[{number}]", ignore_unknown)
        for number, (kind, each) in enumerate(zip(kinds, value, strict=True))
    )


def _under(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:39] + "…"
