"""COMET scores, if the package and a checkpoint are installed; hark neither includes nor downloads them."""

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hark.errors import MissingExtraError, UserError
from hark.evaluate.held_out import HeldOutSet

BATCH = 16


def find_checkpoint(location: Path) -> Path:
    """The checkpoint at a path: the file itself, or one inside a folder in COMET's layout. Does not load it."""
    if find_spec("comet") is None:
        raise MissingExtraError("--comet requires the package unbabel-comet; see its manual")
    for path in (location, location / "checkpoints" / "model.ckpt", location / "model.ckpt"):
        if path.is_file():
            return path
    raise UserError(
        f"{location}: not a COMET model; name a .ckpt file, or the folder that contains checkpoints/model.ckpt"
    )


class Comet:
    """A loaded COMET model."""

    def __init__(self, checkpoint: Path) -> None:
        package: Any = import_module("comet")
        try:
            self.model = package.load_from_checkpoint(str(checkpoint))
        except Exception as error:
            raise UserError(f"{checkpoint}: COMET cannot load it: {error}") from None
        inside = (checkpoint.parent.name, checkpoint.name) == ("checkpoints", "model.ckpt")
        self.name = checkpoint.parent.parent.name if inside else checkpoint.stem

    @property
    def signature(self) -> str:
        try:
            of_package = version("unbabel-comet")
        except PackageNotFoundError:
            of_package = "unknown"
        return f"model:{self.name}|version:{of_package}"

    def score(self, held_out: HeldOutSet, texts: Sequence[str]) -> float:
        samples = [
            {"src": source, "mt": text, "ref": reference}
            for source, text, reference in zip(held_out.sources, texts, held_out.references, strict=True)
        ]
        import torch  # COMET requires it

        gpus = int(torch.cuda.is_available())
        return float(self.model.predict(samples, batch_size=BATCH, gpus=gpus, progress_bar=False).system_score)
