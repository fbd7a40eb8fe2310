"""Old names of settings that moved from [data] to [batches], still accepted. Standard library only."""

from collections.abc import Iterable, Mapping
from typing import Any

from hark.settings import SettingError

MOVED = {"batching": "kind", "batch_tokens": "batch_tokens", "max_length": "max_length"}
"""Old names in [data] and new names in [batches]."""


def move_settings(tree: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Move settings to their current section. Return the new tree and the old names found in [data]."""
    moved = dict(tree)
    data, batches = tree.get("data"), tree.get("batches", {})
    if not isinstance(data, dict) or not isinstance(batches, dict):  # `build` reports this
        return moved, []
    old = [name for name in MOVED if name in data]
    for name in old:
        if MOVED[name] in batches:
            raise SettingError(f"data.{name}", f"is now batches.{MOVED[name]}, which is also set; remove data.{name}")
    if old:
        moved["data"] = {key: value for key, value in data.items() if key not in MOVED}
        moved["batches"] = {**batches, **{MOVED[name]: data[name] for name in old}}
    return moved, old


def share_seed(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Copy `data.seed` to `batches.seed` unless that is set.

    Preparing and batching used to share one seed, so files that set only `data.seed` mean both.
    """
    data, batches = tree.get("data"), tree.get("batches", {})
    if isinstance(data, dict) and isinstance(batches, dict) and "seed" in data and "seed" not in batches:
        return {**tree, "batches": {**batches, "seed": data["seed"]}}
    return dict(tree)


def current_name(setting: str) -> str:
    """The current name of a setting: `batches.kind` for `data.batching`."""
    section, _, name = setting.partition(".")
    return f"batches.{MOVED[name]}" if section == "data" and name in MOVED else setting


def file_notice(path: object, old: Iterable[str]) -> str:
    """A warning about old names in a file."""
    names = ", ".join(name if MOVED[name] == name else f"{name} (now {MOVED[name]})" for name in old)
    return f"{path}: [data] {names} moved to [batches]; update the file (hark config {path} prints it in the new form)"


def override_notice(old: Iterable[str]) -> str:
    """A warning about old names on the command line."""
    return "command line: " + ", ".join(f"{name} is now {current_name(name)}" for name in old)
