"""Reading and writing of settings as TOML, with strict keys and overrides from the command line."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_origin

from hark.config import Config
from hark.errors import UserError
from hark.settings import Section, SettingError, describe, field_name, hints, settings_of, without_none
from hark.userfiles import read_bytes

AnySection = TypeVar("AnySection", bound=Section)


def load(
    path: Path | str | None = None, overrides: Sequence[str] = (), beneath: Mapping[str, Any] | None = None
) -> Config:
    """Load settings from a TOML file (None: the defaults), with `section.key=value` overrides on top.

    `beneath` replaces defaults.
    """
    tree = read_toml(Path(path)) if path is not None else {}
    try:
        tree = laid_over(beneath or {}, tree)
        # Check the file first by itself, so that its errors are not attributed to an override.
        config = build(Config, tree)
    except SettingError as error:
        raise UserError(f"{path}: {error}") from None
    if not overrides:
        return config
    for each in overrides:
        apply_override(tree, each)
    try:
        return build(Config, tree)
    except SettingError as error:
        raise UserError(f"command line: {error}") from None


def laid_over(beneath: Mapping[str, Any], tree: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two trees of plain values; `tree` wins."""
    merged = {**beneath, **tree}
    for key in beneath.keys() & tree.keys():
        if isinstance(beneath[key], dict) and isinstance(tree[key], dict):
            merged[key] = laid_over(beneath[key], tree[key])
    return merged


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_bytes(path).decode("utf-8-sig"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except (ValueError, RecursionError) as error:  # also a number of 5,000 digits or a thousand brackets
        raise UserError(f"{path}: not valid TOML: {error}") from None


def build(section: type[AnySection], values: Mapping[str, Any]) -> AnySection:
    """Build a section from plain values; raise an error on unknown keys."""
    kinds = hints(section)
    converted: dict[str, Any] = {}
    for key, value in values.items():
        if key not in kinds:
            raise SettingError(key, "no such setting" + suggest(key, list(kinds)))
        converted[field_name(key)] = convert(key, value, kinds[key])
    return section(**converted)


def convert(key: str, value: Any, kind: Any) -> Any:
    """Convert TOML's tables and lists to sections and tuples."""
    inner = without_none(kind)
    if is_dataclass(inner):
        if not isinstance(value, dict):
            raise SettingError(key, f"{value!r} is not allowed; must be a table of settings")
        try:
            return build(cast("type[Section]", inner), value)
        except SettingError as error:
            raise error.under(key) from None
    if get_origin(inner) is tuple and isinstance(value, list):
        return tuple(convert_member(f"{key}[{i}]", each, get_args(inner)[0]) for i, each in enumerate(value))
    return value


def convert_member(key: str, value: Any, kind: Any) -> Any:
    return convert(key, value, kind) if is_dataclass(kind) else value


def suggest(wrong: str, known: Sequence[str]) -> str:
    """A hint with the closest known name, or with all names if none is close."""
    close = get_close_matches(wrong, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else f"; choose from {', '.join(known)}"


def apply_override(tree: dict[str, Any], override: str) -> None:
    """Apply one `section.key=value` to a tree of plain values."""
    path, equals, text = override.partition("=")
    *sections, key = path.strip().split(".")
    if not equals or not sections:
        raise UserError(f"command line: {override!r} is not of the form section.key=value")
    section: Any = Config
    for depth, name in enumerate(sections, start=1):
        inner = hints(section).get(name)
        if inner is None or not is_dataclass(inner):
            known = [each for each, kind in hints(section).items() if is_dataclass(kind)]
            raise UserError(f"command line: {'.'.join(sections[:depth])}: no such section" + suggest(name, known))
        section, tree = inner, tree.setdefault(name, {})
    if key not in hints(section):
        raise UserError(f"command line: {path}: no such setting" + suggest(key, list(hints(section))))
    tree[key] = parse_value(text.strip(), hints(section)[key])


def parse_value(text: str, kind: Any) -> Any:
    """Parse a value as TOML, or else take it as text, so that `model.norm=pre` needs no quotes."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # not TOML, or a number with too many digits
        return text
    return text if without_none(kind) is str and not isinstance(value, str) else value


def dump(config: Config) -> str:
    """The settings as TOML; `build(Config, tomllib.loads(dump(config))) == config`."""
    return "\n".join(table_lines(config, "")).strip() + "\n"


def plain(config: Config) -> dict[str, Any]:
    """The settings as plain TOML values."""
    return tomllib.loads(dump(config))


def table_lines(section: Section, name: str) -> Iterator[str]:
    if name:
        yield f"[{name}]"
    for each in settings_of(section):
        if not each.is_section and each.value is not None:  # TOML has no null: an unset value is omitted
            yield f"{each.name} = {toml_value(each.value)}"
    for each in settings_of(section):
        if each.is_section:
            yield ""
            yield from table_lines(each.value, f"{name}.{each.name}" if name else each.name)


def toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON's string escapes are TOML's
    if isinstance(value, tuple):
        return "[" + ", ".join(toml_value(each) for each in value) + "]"
    if isinstance(value, Section):
        pairs = (f"{each.name} = {toml_value(each.value)}" for each in settings_of(value) if each.value is not None)
        return "{ " + ", ".join(pairs) + " }"
    return repr(value)


@dataclass(frozen=True)
class Explanation:
    """One row of `hark config --explain`."""

    key: str
    meaning: str
    allowed: str
    default: str
    value: str


def explain(section: Section, defaults: Section | None = None, prefix: str = "") -> Iterator[Explanation]:
    """Every setting with its meaning, allowed values, default and current value."""
    defaults = defaults or type(section)()
    for each, default in zip(settings_of(section), settings_of(defaults), strict=True):
        if each.is_section:
            yield from explain(each.value, default.value, f"{prefix}{each.name}.")
            continue
        shown = ["unset" if value is None else toml_value(value) for value in (default.value, each.value)]
        yield Explanation(prefix + each.name, each.meaning, describe(each.kind, each.allowed), *shown)


def explain_members(section: type[Section], prefix: str) -> Iterator[Explanation]:
    """The settings of the tables in a list, such as `data.train`, with their defaults."""
    kinds = hints(section)
    for each in fields(cast(Any, section)):
        allowed = describe(kinds[each.name], each.metadata["allowed"])
        shown = toml_value(each.default)
        yield Explanation(prefix + each.name, each.metadata["meaning"], allowed, shown, shown)
