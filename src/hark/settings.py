"""The building blocks of settings: dataclass fields with a meaning and a condition on their value.

`config.py` declares settings with them; `configfile.py` reads and writes settings. Standard library only.
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
"""Limit of any whole number: a signed 32-bit integer, for all libraries underneath."""
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Condition:
    """A condition on a value, and its description."""

    description: str
    holds: Callable[[Any], bool]


def at_least(low: float) -> Condition:
    return Condition(f"{low} or more", lambda value: value >= low and (type(value) is float or value <= LARGEST))


def more_than(low: float) -> Condition:
    return Condition(f"more than {low}", lambda value: value > low)


def between(low: float, high: float) -> Condition:
    return Condition(f"from {low} to {high}", lambda value: low <= value <= high)


def any_seed() -> Condition:
    return between(0, LARGEST_SEED)


def fraction() -> Condition:
    return Condition("from 0 up to, but not including, 1", lambda value: 0 <= value < 1)


def setting(default: Any, meaning: str, allowed: Condition | None = None) -> Any:
    return field(default=default, metadata={"meaning": meaning, "allowed": allowed})


def shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} characters)"


class SettingError(UserError):
    """A setting has an invalid value. `key` is relative to the section that raised it."""

    def __init__(self, key: str, problem: str) -> None:
        self.key, self.problem = key, problem
        super().__init__(f"{key}: {problem}")

    def under(self, section: str) -> "SettingError":
        return SettingError(f"{section}.{self.key}", self.problem)


def hints(section: type["Section"]) -> dict[str, Any]:
    """The names of a section's settings and their types."""
    return {each.name: each.kind for each in section.declared()}


def without_none(kind: Any) -> Any:
    """The type without `None`: `int` for `int | None`."""
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (each for each in get_args(kind) if each is not type(None))
    return kind


def describe(kind: Any, allowed: Condition | None) -> str:
    """Describe the values that a setting accepts."""
    inner = without_none(kind)
    if get_origin(inner) is Literal:
        text = "one of " + ", ".join(get_args(inner))
    elif get_origin(inner) is tuple:
        member = get_args(inner)[0]
        text = "a list of " + ("tables" if is_dataclass(member) else "strings")
    else:
        text = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}[inner]
    if allowed is not None:
        text += f", {allowed.description}"
    return text + (", or unset" if inner is not kind else "")


@dataclass(frozen=True)
class DeclaredSetting:
    """A setting as declared by its section."""

    field: str
    name: str
    """The field without the underscore that is appended to Python's keywords (`from_`)."""
    kind: Any
    inner: Any
    """The type of a value that is not unset."""
    origin: Any
    members: tuple[Any, ...]
    """The values of a `Literal`, or the type of a tuple's items."""
    meaning: str
    allowed: Condition | None
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
        """Whether a value has the declared type."""
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
    """A setting of a section with its value."""

    name: str
    kind: Any
    value: Any
    meaning: str
    allowed: Condition | None

    @property
    def is_section(self) -> bool:
        return is_dataclass(self.kind)


def settings_of(section: "Section") -> Iterator[Setting]:
    for each in section.declared():
        yield Setting(each.name, each.kind, getattr(section, each.field), each.meaning, each.allowed)


def field_name(setting: str) -> str:
    """The name of the field that holds a setting."""
    return setting + "_" if iskeyword(setting) else setting


class Section:
    """The base class of all sections. Checks each setting, then combinations of settings."""

    @classmethod
    @cache
    def declared(cls) -> tuple[DeclaredSetting, ...]:
        """Computed once per class: inspecting types is slow, and a server builds settings for every request."""
        kinds = get_type_hints(cls)
        # Every Section is a dataclass, which the type system cannot express.
        return tuple(DeclaredSetting.of(each, kinds[each.name]) for each in fields(cast(Any, cls)))

    def __post_init__(self) -> None:
        for each in self.declared():
            value, allowed = getattr(self, each.field), each.allowed
            if each.inner is float and type(value) is int and abs(value) <= sys.float_info.max:
                value = float(value)
                object.__setattr__(self, each.field, value)  # the dataclass is frozen
            if each.is_section:
                if not isinstance(value, each.kind):
                    raise SettingError(each.name, "must be a table of settings")
            elif not each.fits(value) or (value is not None and allowed is not None and not allowed.holds(value)):
                expected = describe(each.kind, allowed)
                if type(value) is int and each.inner is int and value > LARGEST and "from" not in expected:
                    expected += f", at most {LARGEST}"
                raise SettingError(each.name, f"{shorten(repr(value))} is not allowed; must be {expected}")
        self.check()

    def check(self) -> None:
        """Raise an error for invalid combinations of settings."""
