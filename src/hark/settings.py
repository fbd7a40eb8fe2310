"""What one setting is: a dataclass field that knows its meaning and what it allows.

`config.py` declares settings with this; `configfile.py` reads and writes them. Standard library only.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import cache
from keyword import iskeyword
from math import isfinite
from types import UnionType
from typing import Any, Literal, Self, Union, cast, get_args, get_origin, get_type_hints

from hark.errors import UserError

LARGEST = 2**31 - 1
"""Of any whole number: what all libraries beneath can count to."""
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Allowed:
    """A condition on a value, and the words that name it to a person."""

    words: str
    holds: Callable[[Any], bool]


def at_least(low: float) -> Allowed:
    return Allowed(f"{low} or more", lambda value: value >= low and (type(value) is float or value <= LARGEST))


def more_than(low: float) -> Allowed:
    return Allowed(f"more than {low}", lambda value: value > low)


def between(low: float, high: float) -> Allowed:
    return Allowed(f"from {low} to {high}", lambda value: low <= value <= high)


def any_seed() -> Allowed:
    return between(0, LARGEST_SEED)


def fraction() -> Allowed:
    return Allowed("from 0 up to, but not including, 1", lambda value: 0 <= value < 1)


def setting(default: Any, meaning: str, allowed: Allowed | None = None) -> Any:
    return field(default=default, metadata={"meaning": meaning, "allowed": allowed})


def shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} characters)"


class SettingError(UserError):
    """A setting has a value that it cannot have. `key` is relative to the section that raised it."""

    def __init__(self, key: str, problem: str) -> None:
        self.key, self.problem = key, problem
        super().__init__(f"{key}: {problem}")

    def under(self, section: str) -> "SettingError":
        return SettingError(f"{section}.{self.key}", self.problem)


def hints(section: type["Section"]) -> dict[str, Any]:
    """The names of a section's settings and their types."""
    return {each.name: each.kind for each in section.declared()}


def without_none(kind: Any) -> Any:
    """`int` for `int | None`: what a value must be when it is set."""
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (each for each in get_args(kind) if each is not type(None))
    return kind


def describe(kind: Any, allowed: Allowed | None) -> str:
    """What a setting allows, in words."""
    inner = without_none(kind)
    if get_origin(inner) is Literal:
        words = "one of " + ", ".join(get_args(inner))
    elif get_origin(inner) is tuple:
        member = get_args(inner)[0]
        words = "a list of " + ("tables" if is_dataclass(member) else "texts")
    else:
        words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}[inner]
    if allowed is not None:
        words += f", {allowed.words}"
    return words + (", or unset" if inner is not kind else "")


@dataclass(frozen=True)
class Declared:
    """One setting as its section declares it."""

    field: str
    name: str
    """A field whose name would be a word of Python's own (`from`) ends with an underscore, which its setting does not
    have."""
    kind: Any
    inner: Any
    """What a value must be when it is set."""
    origin: Any
    members: tuple[Any, ...]
    """Of a `Literal` its values, of a tuple the type of its items."""
    meaning: str
    allowed: Allowed | None
    is_section: bool

    @classmethod
    def of(cls, each: Field[Any], kind: Any) -> Self:
        inner = without_none(kind)
        return cls(
            field=each.name,
            name=each.name.removesuffix("_"),
            kind=kind,
            inner=inner,
            origin=get_origin(inner),
            members=get_args(inner),
            meaning=each.metadata.get("meaning", ""),
            allowed=each.metadata.get("allowed"),
            is_section=is_dataclass(kind),
        )

    def fits(self, value: Any) -> bool:
        """Whether a value is of the kind that is declared."""
        if value is None:
            return self.inner is not self.kind
        if self.origin is Literal:
            return value in self.members
        if self.origin is tuple:
            return isinstance(value, tuple) and all(isinstance(each, self.members[0]) for each in value)
        if self.inner is float:
            return isinstance(value, float) and isfinite(value)
        return isinstance(value, self.inner) and (self.inner is not int or not isinstance(value, bool))


@dataclass(frozen=True)
class Setting:
    """One setting of a section, with the value that it has there."""

    name: str
    kind: Any
    value: Any
    meaning: str
    allowed: Allowed | None

    @property
    def is_section(self) -> bool:
        return is_dataclass(self.kind)


def settings_of(section: "Section") -> Iterator[Setting]:
    for each in section.declared():
        yield Setting(each.name, each.kind, getattr(section, each.field), each.meaning, each.allowed)


def field_name(setting: str) -> str:
    """The field of a section that holds a setting."""
    return setting + "_" if iskeyword(setting) else setting


class Section:
    """Base of every frozen dataclass in the tree: checks each setting, then what holds between them."""

    @classmethod
    @cache
    def declared(cls) -> tuple[Declared, ...]:
        """Worked out once a class: types are slow to look into, and a server makes the settings of many searches."""
        kinds = get_type_hints(cls)
        # Every Section is a dataclass, which its type cannot say.
        return tuple(Declared.of(each, kinds[each.name]) for each in fields(cast(Any, cls)))

    def __post_init__(self) -> None:
        for each in self.declared():
            value, allowed = getattr(self, each.field), each.allowed
            if each.inner is float and type(value) is int and abs(value) <= sys.float_info.max:
                value = float(value)
                object.__setattr__(self, each.field, value)  # a frozen value may still be completed while it is made
            if each.is_section:
                if not isinstance(value, each.kind):
                    raise SettingError(each.name, "must be a table of settings")
            elif not each.fits(value) or (value is not None and allowed is not None and not allowed.holds(value)):
                words = describe(each.kind, allowed)
                if type(value) is int and each.inner is int and value > LARGEST and "from" not in words:
                    words += f", at most {LARGEST}"
                raise SettingError(each.name, f"{shorten(repr(value))} is not allowed; must be {words}")
        self.check()

    def check(self) -> None:
        """Refuse combinations of settings that cannot work together."""
