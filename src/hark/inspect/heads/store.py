"""The heads that align best, written into a model's card, where `hark translate --align` finds them."""

import os
import shutil
from functools import partial
from pathlib import Path

from hark import manifest
from hark.atomic import new_folder
from hark.bundle import CARD, KIND, Bundle
from hark.decode.alignment_heads import with_alignment_heads
from hark.errors import HarkError
from hark.inspect.heads.alignment import Combination


def store(bundle: Bundle, best: Combination, pairs: int, corpus: str) -> str:
    """Write a line into a bundle's card, and seal the bundle again; the line.

    The bundle is the old one or the new one at every moment, whatever happens. Its other files are not copied, where
    the file system lets one file have two names.
    """
    found = manifest.read_manifest(bundle.folder)
    assert found is not None, "an open bundle has a manifest"
    note = f"alignment error rate {best.error:.3f} on {pairs:,} pairs of {corpus}"
    line = best.in_one_layer.line(note)
    card = with_alignment_heads(bundle.card, line)
    try:
        with new_folder(bundle.folder, partial(manifest.is_kind, kind=KIND)) as partial_folder:
            for path in bundle.folder.iterdir():
                if path.name not in (CARD, manifest.NAME):
                    link_or_copy(path, partial_folder / path.name)
            (partial_folder / CARD).write_text(card, encoding="utf-8")
            manifest.seal(partial_folder, KIND, found["format"])
    except OSError as error:
        raise HarkError(f"{bundle.folder}: its card cannot be written: {error.strerror}; it is as it was") from None
    return line


def link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
