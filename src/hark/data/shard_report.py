"""The parts of a dataset's report that describe its shards: dev and test sets, and directions."""

from collections.abc import Sequence

from hark.data.manifest import Role, Shard
from hark.data.report import DirectionReport, HeldOutReport
from hark.facts import LanguagePair


def report_held_out(shards: Sequence[Shard]) -> list[HeldOutReport]:
    """Describe the dev and test sets; a set in several directions is one."""
    sets: dict[tuple[Role, str], list[Shard]] = {}
    for shard in shards:
        if shard.role != "train":
            sets.setdefault((shard.role, shard.corpus), []).append(shard)
    return [HeldOutReport(name, role, sum(each.pairs for each in of), len(of)) for (role, name), of in sets.items()]


def report_directions(shards: Sequence[Shard]) -> list[DirectionReport]:
    """Describe the training text of a many-to-many dataset by direction."""
    directions: dict[LanguagePair, list[Shard]] = {}
    for shard in shards:
        if shard.languages and shard.role == "train":
            directions.setdefault(shard.languages, []).append(shard)
    return [
        DirectionReport(
            *pair,
            sum(each.pairs for each in of),
            sum(each.source_tokens for each in of),
            sum(each.target_tokens for each in of),
        )
        for pair, of in sorted(directions.items())
    ]
