"""Table 4: constituency parsing. A placeholder until parsing is part of hark."""

from typing import NoReturn

from hark.errors import UserError
from hark.reproduce.scales import Scale
from hark.reproduce.work import Report, Rows, Target, Work


def parts(_scale: Scale, _steps: int | None) -> NoReturn:
    raise UserError("table4: parsing is not part of this version of hark; choose another table")


def report(_work: Work, _rows: Rows) -> Report:
    raise NotImplementedError


TARGET = Target("table4", "constituency parsing (not in this version)", parts, report, uses_text=False)
