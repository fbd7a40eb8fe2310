"""`hark version`: the version, as `hark --version` shows it."""

from hark.cli.verbs import show_version

EXAMPLES = ("hark version",)


def version() -> None:
    """Show the version."""
    show_version(True)
