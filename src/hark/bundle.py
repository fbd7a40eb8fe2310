"""A bundle: the self-contained folder of a model. Raw text in, raw text out, and nothing in it is executed."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from hark import configfile, manifest
from hark.atomic import new_folder
from hark.config import Config
from hark.errors import HarkError, UserError

KIND = "hark bundle"
FORMAT = 1
WEIGHTS = "model.safetensors"
CONFIG = "config.toml"
TOKENIZER = "tokenizer.model"
SOURCE_TOKENIZER = "tokenizer.source.model"
CARD = "card.md"
SHORTLIST = "shortlist.npz"


@dataclass(frozen=True)
class Bundle:
    """A verified bundle: every file is there and is the one that was written."""

    folder: Path
    config: Config

    @classmethod
    def open(cls, folder: Path | str) -> Self:
        folder = Path(folder)
        if not folder.is_dir():
            raise UserError(f"{folder}: no such bundle")
        manifest.verify(folder, KIND, FORMAT)
        for name in (WEIGHTS, CONFIG, TOKENIZER, CARD):
            if not (folder / name).is_file():
                raise UserError(f"{folder}: has no {name}; the bundle is incomplete")
        return cls(folder, configfile.load(folder / CONFIG))

    @property
    def weights(self) -> Path:
        return self.folder / WEIGHTS

    @property
    def card(self) -> str:
        return (self.folder / CARD).read_text(encoding="utf-8")

    @property
    def shortlist(self) -> Path | None:
        """What it chooses from, if not from all tokens (see `hark.shortlist`)."""
        path = self.folder / SHORTLIST
        return path if path.is_file() else None

    @property
    def target_tokenizer(self) -> Path:
        return self.folder / TOKENIZER

    @property
    def source_tokenizer(self) -> Path:
        """Both languages share one tokenizer, unless the source has one of its own."""
        own = self.folder / SOURCE_TOKENIZER
        return own if own.is_file() else self.target_tokenizer


def write_bundle(
    folder: Path,
    config: Config,
    write_weights: Callable[[Path], None],
    files: Mapping[str, bytes],
    card: str,
) -> None:
    """Make a bundle of weights, tokenizers and other files, whole or not at all; one of that name is replaced."""
    with new_folder(folder, partial(manifest.is_kind, kind=KIND)) as partial_folder:
        write_weights(partial_folder / WEIGHTS)
        (partial_folder / CONFIG).write_text(configfile.dump(config), encoding="utf-8")
        for name, content in files.items():
            (partial_folder / name).write_bytes(content)
        (partial_folder / CARD).write_text(card, encoding="utf-8")
        manifest.seal(partial_folder, KIND, FORMAT)


def write_card(bundle: Bundle, card: str) -> None:
    """Give a bundle another card."""
    write_file(bundle, CARD, lambda path: path.write_text(card, encoding="utf-8"))


def write_file(bundle: Bundle, name: str, write: Callable[[Path], object]) -> None:
    """Give a bundle another file of a name, and seal it again.

    It is the old one or the new one at every moment, whatever happens. Its other files are not copied, where the file
    system lets one file have two names.
    """
    try:
        with new_folder(bundle.folder, partial(manifest.is_kind, kind=KIND)) as partial_folder:
            for path in bundle.folder.iterdir():
                if path.name not in (name, manifest.NAME):
                    link_or_copy(path, partial_folder / path.name)
            write(partial_folder / name)
            manifest.seal(partial_folder, KIND, FORMAT)
    except OSError as error:
        raise HarkError(f"{bundle.folder}: its {name} cannot be written: {error.strerror}; it is as it was") from None


def link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def name_of(folder: Path) -> str:
    """What a person calls a bundle: its folder's name, or its run's."""
    return folder.parent.name if folder.name == "best" else folder.name


def first_list(lines: Sequence[str]) -> slice:
    """Where the first list of a card stands, whose entries say in a few words what the model is: `- Languages: ...`."""
    first = next((at for at, line in enumerate(lines) if line.startswith("- ")), len(lines))
    return slice(first, next((at for at in range(first, len(lines)) if not lines[at].startswith("- ")), len(lines)))


def with_entry(card: str, entry: str) -> str:
    """A card with an entry, `- Title: words`, as the last of its first list; one of the same title is left out."""
    title = entry.partition(":")[0] + ":"
    lines = card.rstrip().splitlines()
    where = first_list(lines)
    entries = [line for line in lines[where] if not line.startswith(title)]
    gap = [] if lines[where] else [""]
    return "\n".join([*lines[: where.start], *gap, *entries, entry, *lines[where.stop :]]) + "\n"
