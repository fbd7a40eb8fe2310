"""COMET, where the package and a checkpoint of it are present; hark neither brings nor fetches them."""

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hark.errors import MissingExtraError, UserError
from hark.evaluate.held_out import HeldOutSet

BATCH = 16


def find_checkpoint(given: Path) -> Path:
    """The file to load: the one named, or the one inside a folder as COMET lays them out. Nothing is loaded yet."""
    if find_spec("comet") is None:
        raise MissingExtraError("--comet needs the package unbabel-comet, which is not installed: see its own manual")
    for path in (given, given / "checkpoints" / "model.ckpt", given / "model.ckpt"):
        if path.is_file():
            return path
    raise UserError(
        f"{given}: no COMET model there; name a .ckpt file, or the folder that holds checkpoints/model.ckpt"
    )


class Comet:
    """A model of COMET, loaded."""

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
        import torch  # COMET needs it anyway

        gpus = int(torch.cuda.is_available())
        return float(self.model.predict(samples, batch_size=BATCH, gpus=gpus, progress_bar=False).system_score)
