"""What one setting is: a dataclass field that knows its meaning and what it allows.

`config.py` declares settings with this; `configfile.py` reads and writes them. Standard library only.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from keyword import iskeyword
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from hark.errors import UserError


@dataclass(frozen=True)
class Allowed:
    """A condition on a value, and the words that name it to a person."""

    words: str
    holds: Callable[[Any], bool]


def at_least(low: float) -> Allowed:
    return Allowed(f"{low} or more", lambda value: value >= low)


def more_than(low: float) -> Allowed:
    return Allowed(f"more than {low}", lambda value: value > low)


def between(low: float, high: float) -> Allowed:
    return Allowed(f"from {low} to {high}", lambda value: low <= value <= high)


def fraction() -> Allowed:
    return Allowed("from 0 up to, but not including, 1", lambda value: 0 <= value < 1)


def setting(default: Any, meaning: str, allowed: Allowed | None = None) -> Any:
    return field(default=default, metadata={"meaning": meaning, "allowed": allowed})


class SettingError(UserError):
    """A setting has a value that it cannot have. `key` is relative to the section that raised it."""

    def __init__(self, key: str, problem: str) -> None:
        self.key, self.problem = key, problem
        super().__init__(f"{key}: {problem}")

    def under(self, section: str) -> "SettingError":
        return SettingError(f"{section}.{self.key}", self.problem)


def hints(section: type["Section"]) -> dict[str, Any]:
    """The names of a section's settings and their types. A field whose name would be a word of Python's own (`from`)
    ends with an underscore, which its setting does not have."""
    return {name.removesuffix("_"): kind for name, kind in get_type_hints(section).items()}


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


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of the kind that its setting declares."""
    inner = without_none(kind)
    if value is None:
        return inner is not kind
    if get_origin(inner) is Literal:
        return value in get_args(inner)
    if get_origin(inner) is tuple:
        member = get_args(inner)[0]
        return isinstance(value, tuple) and all(isinstance(each, member) for each in value)
    if inner is float:
        return isinstance(value, float)
    return isinstance(value, inner) and (inner is bool or not isinstance(value, bool))


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
    kinds = hints(type(section))
    for each in fields(cast(Any, section)):  # every Section is a dataclass, which its type cannot say
        name, meaning, allowed = (
            each.name.removesuffix("_"),
            each.metadata.get("meaning", ""),
            each.metadata.get("allowed"),
        )
        yield Setting(name, kinds[name], getattr(section, each.name), meaning, allowed)


def field_name(setting: str) -> str:
    """The field of a section that holds a setting."""
    return setting + "_" if iskeyword(setting) else setting


class Section:
    """Base of every frozen dataclass in the tree: checks each setting, then what holds between them."""

    def __post_init__(self) -> None:
        for each in settings_of(self):
            value, allowed = each.value, each.allowed
            if type(value) is int and without_none(each.kind) is float:
                value = float(value)
                object.__setattr__(
                    self, field_name(each.name), value
                )  # a frozen value may still be completed while it is made
            if each.is_section:
                if not isinstance(value, each.kind):
                    raise SettingError(each.name, "must be a table of settings")
            elif not fits(value, each.kind) or (value is not None and allowed is not None and not allowed.holds(value)):
                raise SettingError(each.name, f"{value!r} is not allowed; must be {describe(each.kind, allowed)}")
        self.check()

    def check(self) -> None:
        """Refuse combinations of settings that cannot work together."""
