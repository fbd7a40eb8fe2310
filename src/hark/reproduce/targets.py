"""The targets of `hark reproduce`."""

from hark.configfile import suggest
from hark.errors import UserError
from hark.reproduce import ablate, figures, table1, table2, table3, table4
from hark.reproduce.cost import NOMINAL
from hark.reproduce.scales import SCALES, ScaleName
from hark.reproduce.work import Target

TARGETS: dict[str, Target] = {
    each.name: each
    for each in (table1.TARGET, table2.TARGET, table3.TARGET, table4.TARGET, figures.TARGET, ablate.TARGET)
}
SHOWN: tuple[ScaleName, ...] = ("small", "medium", "full")


def find_target(name: str) -> Target:
    if name not in TARGETS:
        raise UserError(f"{name}: no such table or figure" + suggest(name, tuple(TARGETS)))
    return TARGETS[name]


def nominal_seconds(target: Target, scale: ScaleName) -> float:
    """How long a target takes on the machine that the scale is meant for."""
    return NOMINAL[scale].seconds(target.cost(SCALES[scale]))
