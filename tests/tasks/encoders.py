"""Bundles of small encoders with random weights, imported once for all tests."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Literal

from hark.exchange.importer import ImportRequest, import_model
from tests.exchange.encoder_models import write_bert, write_roberta

Kind = Literal["bert", "roberta", "headless"]


@cache
def folders(kind: Kind) -> tuple[Path, Path]:
    """The folder of transformers, and the bundle."""
    where = Path(mkdtemp(prefix="hark-encoder-"))
    match kind:
        case "bert":
            theirs = write_bert(where / "theirs")
        case "roberta":
            theirs = write_roberta(where / "theirs")
        case "headless":
            theirs = write_bert(where / "theirs", head=False)
    import_model(ImportRequest(str(theirs), check=False), where / kind)
    return theirs, where / kind
