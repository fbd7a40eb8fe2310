"""A bundle: the self-contained folder of a model. Raw text in, raw text out, and nothing in it is executed."""

import os
import shutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from hark import card, configfile, factsfile, manifest, old_card
from hark.atomic import new_folder
from hark.config import Config
from hark.errors import HarkError, HarkWarning, UserError
from hark.facts import Facts

KIND = "hark bundle"
FORMAT = 1
WEIGHTS = "model.safetensors"
CONFIG = "config.toml"
TOKENIZER = "tokenizer.model"
SOURCE_TOKENIZER = "tokenizer.source.model"
FACTS = factsfile.NAME
CARD = "card.md"
SHORTLIST = "shortlist.npz"


@dataclass(frozen=True)
class Bundle:
    """A verified bundle: every file is there and is the one that was written.

    The card is for people: one that was edited or lost is told, and stops nothing.
    """

    folder: Path
    config: Config
    facts: Facts

    @classmethod
    def open(cls, folder: Path | str) -> Self:
        folder = Path(folder)
        if not folder.is_dir():
            raise UserError(f"{folder}: no such bundle")
        if manifest.verify(folder, KIND, FORMAT, for_people=(CARD,)):
            warnings.warn(
                f"{folder / CARD}: was changed or removed since hark wrote it; the model is unchanged",
                HarkWarning,
                stacklevel=2,
            )
        for name in (WEIGHTS, CONFIG):  # the files of the vocabulary depend on its kind: `hark.text.opening`
            if not (folder / name).is_file():
                raise UserError(f"{folder}: has no {name}; the bundle is incomplete")
        return cls(folder, configfile.load(folder / CONFIG), read_facts(folder))

    @property
    def weights(self) -> Path:
        return self.folder / WEIGHTS

    @property
    def card(self) -> str:
        """For people; code reads `facts`. One that is lost is written again from them."""
        return read_card(self.folder) or card.render(self.facts, self.config.model)

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

    @property
    def vocabulary_files(self) -> dict[str, bytes]:
        """The files of its vocabulary, of whatever kind: all that are none of the others."""
        others = {WEIGHTS, CONFIG, FACTS, CARD, SHORTLIST, manifest.NAME}
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir()) if path.name not in others}


def is_bundle(folder: Path) -> bool:
    """Whether a folder bears the seal of a bundle, sound or not."""
    return manifest.is_kind(folder, KIND)


def read_facts(folder: Path) -> Facts:
    """The facts of a bundle, which is not verified for it. An old bundle has none: its card is read into facts."""
    if (folder / FACTS).is_file():
        return factsfile.load(folder / FACTS)
    return old_card.read_card(read_card(folder), configfile.load(folder / CONFIG))


def read_card(folder: Path) -> str:
    """The card as it stands there, edited or not; empty if there is none."""
    try:
        return (folder / CARD).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def write_bundle(
    folder: Path,
    config: Config,
    write_weights: Callable[[Path], None],
    files: Mapping[str, bytes],
    facts: Facts,
    force: bool = False,
) -> None:
    """Make a bundle of weights, vocabulary and other files, whole or not at all.

    The card is written from the facts. An existing bundle of that name is refused, or replaced with `force`.
    """
    with new_folder(folder, is_bundle, force) as partial_folder:
        write_weights(partial_folder / WEIGHTS)
        (partial_folder / CONFIG).write_text(configfile.dump(config), encoding="utf-8")
        for name, content in {**files, **fact_files(facts, config)}.items():
            (partial_folder / name).write_bytes(content)
        manifest.seal(partial_folder, KIND, FORMAT)


def fact_files(facts: Facts, config: Config) -> dict[str, bytes]:
    """Facts, and the card that is written from them."""
    return {FACTS: factsfile.dump(facts).encode(), CARD: card.render(facts, config.model).encode()}


def write_facts(bundle: Bundle, facts: Facts) -> None:
    """Give a bundle other facts, and the card that belongs to them."""
    write_files(bundle, fact_files(facts, bundle.config))


def write_files(bundle: Bundle, files: Mapping[str, bytes]) -> None:
    """Replace or add files of a bundle, and seal it again.

    It is the old one or the new one at every moment, whatever happens. Its other files are not copied, where the file
    system lets one file have two names.
    """
    try:
        with new_folder(bundle.folder, is_bundle, force=True) as partial_folder:
            for path in bundle.folder.iterdir():
                if path.name not in (*files, manifest.NAME):
                    link_or_copy(path, partial_folder / path.name)
            for name, content in files.items():
                (partial_folder / name).write_bytes(content)
            manifest.seal(partial_folder, KIND, FORMAT)
    except OSError as error:
        names = ", ".join(files)
        raise HarkError(f"{bundle.folder}: cannot write {names}: {error.strerror}; the bundle is unchanged") from None


def link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def name_of(folder: Path) -> str:
    """What a person calls a bundle: its folder's name, or its run's."""
    return folder.parent.name if folder.name == "best" else folder.name
