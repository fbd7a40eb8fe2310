"""Bundles from before facts.json: their card, which was text for people and for hark at once, is read into facts.

Nothing writes such cards any more. Whatever changes such a bundle writes it with a facts.json.
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
    """Languages, summary, alignment heads, names of the training text, which weights, how stored, licence."""
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
    """The entries `- Title: words` of the first list."""
    found: dict[str, str] = {}
    for line in card.splitlines():
        if line.startswith("- "):
            title, _, words = line.removeprefix("- ").partition(": ")
            found[title] = words.strip()
        elif found:
            break
    return found


def first_paragraph(card: str) -> str:
    paragraphs = (" ".join(each.split()) for each in card.split("\n\n"))
    return next((each for each in paragraphs if each and not each.startswith(("#", "- "))), "")


def trained_on(words: str) -> tuple[tuple[TextFacts, ...], tuple[ParentModel, ...]]:
    names, _, start = words.partition("starting from ")
    corpora = tuple(TextFacts(name.strip()) for name in names.split(",") if name.strip())
    return corpora, (ParentModel("start", start.strip()),) if start else ()


def alignment_heads(words: str) -> AlignmentFacts | None:
    """None where they cannot be read: `--align` then uses the default heads, and `hark heads --store` finds others."""
    found = ALIGNMENT.match(words)
    heads = [tuple(int(part) - 1 for part in name.split(":")) for name in found[1].split(", ")] if found else []
    if found is None or len({layer for layer, _ in heads}) != 1 or min(min(each) for each in heads) < 0:
        return None
    return AlignmentFacts(
        layer=heads[0][0],
        heads=tuple(head for _, head in heads),
        step=cast(AlignmentStep, found[2]),
        error_rate=float(found[3]) if found[3] else None,
        pairs=int(found[4].replace(",", "")) if found[4] else None,
        corpus=found[5] or "",
    )
