"""A bundle: the self-contained folder of a model. It takes and returns raw text. Loading it executes no code."""

import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from hark import card, configfile, manifest
from hark.atomic import new_folder
from hark.config import Config
from hark.errors import HarkError, HarkWarning, UserError
from hark.facts import FACTS, Facts, dump_facts, load_facts

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
    """A verified bundle: every file is present and unmodified.

    A modified or missing card, which only people read, causes a warning.
    """

    folder: Path
    config: Config
    facts: Facts
    hashing: manifest.Hashing | None = field(default=None, compare=False)
    """Of the weights, if they are hashed while the bundle is in use."""

    @classmethod
    def open(cls, folder: Path | str, wait: bool = True) -> Self:
        """Without `wait`, the weights are hashed meanwhile: those who read them with `unconfirmed_weights` save the
        time that this takes."""
        folder = Path(folder)
        if not folder.is_dir():
            raise UserError(f"{folder}: no such bundle")
        if manifest.verify(folder, KIND, FORMAT, for_people=(CARD,), later=() if wait else (WEIGHTS,)):
            warnings.warn(
                f"{folder / CARD}: modified or missing; the model itself is intact",
                HarkWarning,
                stacklevel=2,
            )
        for name in (WEIGHTS, CONFIG):  # the files of the vocabulary depend on its kind: `hark.text.opening`
            if not (folder / name).is_file():
                raise UserError(f"{folder}: incomplete bundle: {name} is missing")
        hashing = None if wait else manifest.Hashing(folder, WEIGHTS)
        return cls(folder, configfile.load(folder / CONFIG), read_facts(folder), hashing)

    @property
    def weights(self) -> Path:
        if self.hashing is not None:
            self.hashing.wait()
        return self.folder / WEIGHTS

    @contextmanager
    def unconfirmed_weights(self) -> Iterator[Path]:
        """The weights, which may turn out to be modified at the end: then that is the error."""
        try:
            yield self.folder / WEIGHTS
        finally:
            if self.hashing is not None:
                self.hashing.wait()

    @property
    def card(self) -> str:
        """The model card, for people; code uses `facts`. A missing card is rendered from them."""
        return read_card(self.folder) or card.render(self.facts, self.config.model)

    @property
    def silence(self) -> str:
        """Why it predicts no tokens; empty if it does. Encoders were trained to, or to predict labels; of those that
        were imported, the layer may be missing."""
        model = self.config.model
        if model.labels is not None:
            return "it predicts labels"
        trained = self.facts.origin is None or model.prediction_layer
        return "" if model.shape != "encoder" or trained else "it was imported without the layer that predicts tokens"

    @property
    def purpose(self) -> str:
        """What the model does, and with which verb; for messages to those who ask it for something else."""
        match self.config.model.shape:
            case "decoder":
                return "continues text; use hark generate"
            case "encoder" if labels := self.config.model.labels:
                return f"labels {'texts' if labels == 'text' else 'words'}; use hark classify"
            case "encoder" if not self.silence:
                return "fills gaps and embeds sentences; use hark fill or hark embed"
            case "encoder":
                return "embeds sentences; use hark embed"
            case "encoder-decoder" if self.facts.pairs:
                return "translates; use hark translate"
        return "makes text from text; use hark generate"

    @property
    def shortlist(self) -> Path | None:
        """The file of the vocabulary shortlist, if any (`hark.shortlist`)."""
        path = self.folder / SHORTLIST
        return path if path.is_file() else None

    @property
    def target_tokenizer(self) -> Path:
        return self.folder / TOKENIZER

    @property
    def source_tokenizer(self) -> Path:
        """The tokenizer of the source; the shared one unless the source has its own."""
        own = self.folder / SOURCE_TOKENIZER
        return own if own.is_file() else self.target_tokenizer

    @property
    def vocabulary_files(self) -> dict[str, bytes]:
        """The files of the vocabulary, of whatever kind: all files that no other part of hark defines."""
        others = {WEIGHTS, CONFIG, FACTS, CARD, SHORTLIST, manifest.NAME}
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir()) if path.name not in others}


def is_bundle(folder: Path) -> bool:
    """Whether a folder is a bundle, by its manifest. Does not verify it."""
    return manifest.is_kind(folder, KIND)


def read_facts(folder: Path) -> Facts:
    """Read the facts of a bundle without verifying it."""
    return load_facts(folder / FACTS)


def read_card(folder: Path) -> str:
    """The text of the card, modified or not; empty if missing."""
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
    before: Path | None = None,
) -> None:
    """Write a bundle of weights, vocabulary and other files atomically.

    The card is rendered from the facts. Raises an error if the bundle exists, or replaces it with `force`. `before`: a
    bundle to which files may be hard links (`manifest.seal`).
    """
    with new_folder(folder, is_bundle, force) as partial_folder:
        write_weights(partial_folder / WEIGHTS)
        (partial_folder / CONFIG).write_text(configfile.dump(config), encoding="utf-8")
        for name, content in {**files, **fact_files(facts, config)}.items():
            (partial_folder / name).write_bytes(content)
        manifest.seal(partial_folder, KIND, FORMAT, before)


def fact_files(facts: Facts, config: Config) -> dict[str, bytes]:
    """The facts file, and the card rendered from it."""
    return {FACTS: dump_facts(facts).encode(), CARD: card.render(facts, config.model).encode()}


def write_facts(bundle: Bundle, facts: Facts) -> None:
    """Replace the facts of a bundle, and its card."""
    write_files(bundle, fact_files(facts, bundle.config))


def write_files(bundle: Bundle, files: Mapping[str, bytes]) -> None:
    """Replace or add files of a bundle atomically, and update its manifest.

    Its other files are hard-linked if the file system allows it, else copied.
    """
    try:
        with new_folder(bundle.folder, is_bundle, force=True) as partial_folder:
            for path in bundle.folder.iterdir():
                if path.name not in (*files, manifest.NAME):
                    link_or_copy(path, partial_folder / path.name)
            for name, content in files.items():
                (partial_folder / name).write_bytes(content)
            manifest.seal(partial_folder, KIND, FORMAT, bundle.folder)
    except OSError as error:
        names = ", ".join(files)
        raise HarkError(f"{bundle.folder}: cannot write {names}: {error.strerror}; the bundle is unchanged") from None


def link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def name_of(folder: Path) -> str:
    """The display name of a bundle: that of its folder, or of its run."""
    return folder.parent.name if folder.name == "best" else folder.name
