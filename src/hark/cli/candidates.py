"""Candidates for shell completion: names of models, languages, recipes and settings. All imports are lazy."""

from typing import TYPE_CHECKING, get_args

if TYPE_CHECKING:
    from hark.models import InstalledModel

Candidates = list[tuple[str, str]]
"""Completions, each with a short description."""
ACTIONS = ("get", "add", "remove")
"""The actions of `hark models`."""


def verbs() -> Candidates:
    from hark.cli.verbs import VERBS

    return [(verb, "") for verb in VERBS]


def usable_models() -> "list[InstalledModel]":
    from hark.models import list_models

    return [each for each in list_models() if not each.problem]


def models() -> Candidates:
    return list({each.name: (each.name, each.languages) for each in usable_models()}.values())


def models_and_actions() -> Candidates:
    return [*models(), *((action, "") for action in ACTIONS)]


def source_languages(incomplete: str = "") -> Candidates:
    return languages({pair[0] for each in usable_models() for pair in each.pairs}, incomplete)


def target_languages(incomplete: str = "") -> Candidates:
    return languages({pair[1] for each in usable_models() for pair in each.pairs}, incomplete)


def languages(codes: set[str], incomplete: str) -> Candidates:
    """Codes, and for a word that has been begun also English names."""
    from hark.text.language_names import language_name

    named = {code: language_name(code) for code in sorted(codes)}
    names = [(name.lower(), code) for code, name in named.items() if incomplete and name != code]
    return [*named.items(), *names]


def recipes() -> Candidates:
    from hark.recipes import names, summary

    return [(name, summary(name)) for name in names()]


def settings(incomplete: str = "") -> Candidates:
    """Complete `model.norm=`, and after the sign the values that can be listed."""
    from hark.config import Config
    from hark.configfile import explain
    from hark.settings import Section, hints, without_none

    name, equals, _ = incomplete.partition("=")
    if not equals:
        return [(f"{each.key}=", each.meaning) for each in explain(Config())]
    *sections, key = name.split(".")
    section: type[Section] = Config
    for each in sections:
        section = hints(section).get(each, Section)
    kind = without_none(hints(section).get(key)) if issubclass(section, Section) else None
    values = ("true", "false") if kind is bool else get_args(kind)
    return [(f"{name}={value}", "") for value in values if isinstance(value, str)]


def setting_names() -> Candidates:
    return [(name.removesuffix("="), meaning) for name, meaning in settings()]


def search_settings() -> Candidates:
    return [(name.removeprefix("decode."), meaning) for name, meaning in settings() if name.startswith("decode.")]


def recipe_or_settings(incomplete: str) -> Candidates:
    """Complete the first argument of `hark train`."""
    return [*recipes(), *settings(incomplete)] if "." not in incomplete else settings(incomplete)


def reproducible() -> Candidates:
    """Tables and figures; listed here because importing them imports PyTorch."""
    return [(name, "") for name in ("table1", "table2", "table3", "table4", "figures", "ablate")]
