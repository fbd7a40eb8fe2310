"""The observer of a run: passes its records to the panel and, if enabled, to TensorBoard."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from hark.config import Config
from hark.monitor.panel import Panel
from hark.monitor.tensorboard import Board
from hark.rundir import RunDir
from hark.train.metrics import History
from hark.train.records import Record, TranslationSample


class RunWatch:
    """An observer that passes records to the panel and to TensorBoard."""

    def __init__(self, panel: Panel, board: Board | None) -> None:
        self.panel, self.board = panel, board

    def update(self, record: Record | TranslationSample) -> None:
        if self.board is not None:
            self.board.write(record)
        self.panel.update(record)

    def log(self, line: str) -> None:
        self.panel.log(line)


@contextmanager
def watch_run(config: Config, run: RunDir, history: History | None) -> Iterator[RunWatch]:
    with ExitStack() as stack:
        board = stack.enter_context(Board(run.path / "tensorboard")) if config.train.tensorboard else None
        yield RunWatch(stack.enter_context(Panel(run.name, history)), board)
