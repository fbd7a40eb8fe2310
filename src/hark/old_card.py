"""Parser for the cards of bundles older than facts.json, which held the metadata.

Hark no longer writes such cards. Any change to such a bundle adds a facts.json.
"""

import re
from typing import cast

from hark.config import Config
from hark.facts import AlignmentFacts, AlignmentStep, Facts, MakingFacts, ParentModel, TextFacts

ALIGNMENT = re.compile(
    r"(\d+:\d+(?:, \d+:\d+)*), at the step that (predicts|reads) a word"
    r"(?:; alignment error rate ([\d.]+)(?: on ([\d,]+) pairs of (.+))?)?"
)


def read_card(card: str, config: Config) -> Facts:
    """Parse the title, summary, training text, weights, storage, alignment heads and licence of a card."""
    entries = first_list(card)
    text, parents = trained_on(entries.get("Trained on", ""))
    making = MakingFacts(weights=entries.get("Weights", ""), storage=entries.get("Stored in", ""), parents=parents)
    return Facts(
        pairs=((config.data.source, config.data.target),),
        title=next((line.removeprefix("# ").strip() for line in card.splitlines() if line.startswith("# ")), ""),
        summary=first_paragraph(card),
        licence=entries.get("Licence", ""),
        alignment=alignment_heads(entries.get("Alignment heads", "")),
        text=text,
        making=making,
    )


def first_list(card: str) -> dict[str, str]:
    """The entries `- Title: text` of the first list."""
    entries: dict[str, str] = {}
    for line in card.splitlines():
        if line.startswith("- "):
            title, _, text = line.removeprefix("- ").partition(": ")
            entries[title] = text.strip()
        elif entries:
            break
    return entries


def first_paragraph(card: str) -> str:
    paragraphs = (" ".join(each.split()) for each in card.split("\n\n"))
    return next((each for each in paragraphs if each and not each.startswith(("#", "- "))), "")


def trained_on(entry: str) -> tuple[tuple[TextFacts, ...], tuple[ParentModel, ...]]:
    names, _, start = entry.partition("starting from ")
    corpora = tuple(TextFacts(name.strip()) for name in names.split(",") if name.strip())
    return corpora, (ParentModel("start", start.strip()),) if start else ()


def alignment_heads(entry: str) -> AlignmentFacts | None:
    """The alignment heads; None if the entry cannot be parsed: `--align` then uses the default heads."""
    match = ALIGNMENT.match(entry)
    heads = [tuple(int(part) - 1 for part in name.split(":")) for name in match[1].split(", ")] if match else []
    if match is None or len({layer for layer, _ in heads}) != 1 or min(min(each) for each in heads) < 0:
        return None
    return AlignmentFacts(
        layer=heads[0][0],
        heads=tuple(head for _, head in heads),
        step=cast(AlignmentStep, match[2]),
        error_rate=float(match[3]) if match[3] else None,
        pairs=int(match[4].replace(",", "")) if match[4] else None,
        corpus=match[5] or "",
    )
