"""Settings that moved from [data] to [batches]: what people wrote before is still read. Standard library only."""

from collections.abc import Iterable, Mapping
from typing import Any

from hark.settings import SettingError

MOVED = {"batching": "kind", "batch_tokens": "batch_tokens", "max_length": "max_length"}
"""Settings that were in [data], and their names in [batches]."""


def move_settings(tree: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A tree of plain values with every setting where it is now, and the names of those that were still in [data]."""
    moved = dict(tree)
    data, batches = tree.get("data"), tree.get("batches", {})
    if not isinstance(data, dict) or not isinstance(batches, dict):  # refused, with its name, when the tree is built
        return moved, []
    old = [name for name in MOVED if name in data]
    for name in old:
        if MOVED[name] in batches:
            raise SettingError(f"data.{name}", f"is now batches.{MOVED[name]}, which is set too; remove data.{name}")
    if old:
        moved["data"] = {key: value for key, value in data.items() if key not in MOVED}
        moved["batches"] = {**batches, **{MOVED[name]: data[name] for name in old}}
    return moved, old


def share_seed(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The same tree, where `data.seed` is the seed of the order of sentences too, unless that has one of its own.

    Preparing and batching had one seed between them. A recipe, a run or a command that names only this one means both.
    """
    data, batches = tree.get("data"), tree.get("batches", {})
    if isinstance(data, dict) and isinstance(batches, dict) and "seed" in data and "seed" not in batches:
        return {**tree, "batches": {**batches, "seed": data["seed"]}}
    return dict(tree)


def current_name(setting: str) -> str:
    """What a setting is called now: `batches.kind` for `data.batching`."""
    section, _, name = setting.partition(".")
    return f"batches.{MOVED[name]}" if section == "data" and name in MOVED else setting


def file_notice(path: object, old: Iterable[str]) -> str:
    """One line for a person whose file has settings in their old place."""
    names = ", ".join(name if MOVED[name] == name else f"{name} (now {MOVED[name]})" for name in old)
    return f"{path}: [data] {names} moved to [batches]; update the file (hark config {path} prints it in the new form)"


def override_notice(old: Iterable[str]) -> str:
    """One line for a person who typed settings by their old names."""
    return "command line: " + ", ".join(f"{name} is now {current_name(name)}" for name in old)
