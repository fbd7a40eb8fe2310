"""Table 4: constituency parsing, which `benchmarks/parse.py` runs for now."""

from typing import NoReturn

from hark.errors import UserError
from hark.reproduce.scales import Scale
from hark.reproduce.work import Report, Rows, Target, Work


def parts(_scale: Scale, _steps: int | None) -> NoReturn:
    raise UserError("table4: run it with python -m benchmarks.parse; hark reproduce does not call it yet")


def report(_work: Work, _rows: Rows) -> Report:
    raise NotImplementedError


TARGET = Target("table4", "constituency parsing (python -m benchmarks.parse)", parts, report, uses_text=False)
