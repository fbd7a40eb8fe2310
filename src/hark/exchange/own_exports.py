"""What a folder that hark exported tells about its model, when it is imported again."""

from pathlib import Path

from hark import facts as factsfile
from hark import manifest
from hark.exchange.language_codes import Languages
from hark.exchange.recognition import EXPORT
from hark.facts import Facts


def own_facts(folder: Path) -> Facts | None:
    """The facts of a folder that hark exported; None for other folders."""
    if not (folder / factsfile.NAME).is_file() or not manifest.is_kind(folder, EXPORT):
        return None
    return factsfile.load(folder / factsfile.NAME)


def facts_languages(facts: Facts) -> Languages:
    sources, targets = (tuple(dict.fromkeys(pair[side] for pair in facts.pairs)) for side in (0, 1))
    return sources, targets
