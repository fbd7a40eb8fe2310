"""Markdown tables and number formats of the reports."""

from collections.abc import Sequence
from typing import Any

Cell = str | int | float | None


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [list(head), ["---"] * len(head), *(list(row) for row in rows)]
    return "".join(f"| {' | '.join(each.replace('|', chr(92) + '|') for each in line)} |\n" for line in lines)


def number(value: Any, digits: int = 1) -> str:
    """A figure, or a dash if there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def signed(value: Any, digits: int = 1) -> str:
    return "-" if value is None else f"{value:+.{digits}f}"


def power(value: float | None) -> str:
    """`3.3·10^18`, as the paper writes training costs."""
    if value is None:
        return "-"
    digits, _, exponent = f"{value:.1e}".partition("e")
    return f"{digits}·10^{int(exponent)}"


def millions(weights: int) -> str:
    return f"{weights / 1e6:.1f}" if weights < 1e8 else f"{weights / 1e6:.0f}"


def perplexity(value: Any) -> str:
    """Perplexities of untrained models have many digits; the first few matter."""
    return (
        "-" if value is None else f"{value:.2f}" if value < 1000 else f"{value:.0f}" if value < 1e6 else f"{value:.0e}"
    )


def differences(lines: Sequence[str]) -> str:
    """The list of what differs from the paper, below a table."""
    return "What differs from the paper:\n\n" + "".join(f"- {line}\n" for line in lines)
