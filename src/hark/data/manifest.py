"""The manifest of a dataset: its shards, the files, settings and tokenizers that they were made with, and checksums.

Checksums are computed on all cores, at 1.3 GB/s per core with SHA instructions.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, Self

from hark.errors import UserError
from hark.facts import LabelFacts, LanguagePair, LanguageTags
from hark.machine import available_cores

FORMAT = 1
KIND = "hark dataset"
Role = Literal["train", "dev", "test"]
ROLES: tuple[Role, ...] = ("train", "dev", "test")
PIECE = 1 << 26
"""Bytes hashed per task: a single large file keeps all cores busy too."""
BLOCK = 1 << 20
"""Bytes in memory at a time per thread; hashlib releases the GIL for blocks this large."""


@dataclass(frozen=True)
class SourceFile:
    """An input file of the dataset."""

    path: str
    size: int
    sha256: str


def direction_name(pair: LanguagePair) -> str:
    """The name of a direction in file names: `en-fr`."""
    return "-".join(pair)


def text_files(role: Role, corpus: str, pair: LanguagePair, tagged: bool) -> tuple[str, str]:
    """The files of the raw text of a dev or test set, source and target; both directions of a pair share them.

    `tagged`: whether the dataset has several pairs, which the names tell apart."""
    stem = f"{role}/{corpus}.{'-'.join(sorted(pair))}" if tagged else f"{role}/{corpus}"
    source, target = pair
    if source == target:
        return f"{stem}.source.{source}", f"{stem}.target.{target}"
    return f"{stem}.{source}", f"{stem}.{target}"


@dataclass(frozen=True)
class Shard:
    """One encoded corpus, or dev or test set."""

    name: str
    role: Role
    weight: float
    pairs: int
    variants: int
    source_tokens: int
    target_tokens: int
    languages: LanguagePair | None = None
    """The direction, in a dataset with language tags: each source begins with one, and maybe each target."""
    bytes: int = 0
    """The size of the text, of one language, in UTF-8."""

    @property
    def corpus(self) -> str:
        """The name without the direction."""
        return self.name if self.languages is None else self.name.removesuffix(f".{direction_name(self.languages)}")

    @property
    def lead(self) -> int:
        """The number of ids before the text of each source: its language tag, or none."""
        return 0 if self.languages is None else 1

    def folder(self, variant: int = 0) -> str:
        return f"{self.role}/{self.name}" + (f".{variant}" if variant else "")

    def reversed(self) -> "Shard":
        return replace(self, source_tokens=self.target_tokens, target_tokens=self.source_tokens)


@dataclass(frozen=True)
class Manifest:
    """Contents of a dataset. `key` hashes all inputs and settings: equal keys mean equal datasets."""

    key: str
    source: str
    target: str
    """The languages; both are empty in a dataset with language tags, whose shards have them."""
    settings: Mapping[str, Any]
    sources: tuple[SourceFile, ...]
    tokenizer: str
    source_tokenizer: str | None
    shards: tuple[Shard, ...]
    checksums: Mapping[str, str] = field(default_factory=dict)
    """Checksums of every file in the shard folders; empty in older datasets."""
    labels: LabelFacts | None = None
    """Of the texts or of their words, which a store has beside them: each token has the number of its label plus 1, or
    0 for none."""

    @property
    def is_text(self) -> bool:
        """Whether it holds text of one language, and no pairs."""
        return not self.source and not self.tagged

    @property
    def directions(self) -> tuple[LanguagePair, ...]:
        """Every direction with training text, or else with any text; none of text of one language."""
        if self.is_text:
            return ()
        if not self.tagged:
            return ((self.source, self.target),)
        trained = [shard.languages for shard in self.shards if shard.languages and shard.role == "train"]
        return tuple(dict.fromkeys(trained or [shard.languages for shard in self.shards if shard.languages]))

    @property
    def corpora(self) -> frozenset[str]:
        """The names of the shards in the direction of their corpus, without those reversed."""
        names = frozenset(corpus["name"] for corpus in self.settings["corpora"]) if self.tagged else None
        return frozenset(shard.name for shard in self.shards if names is None or shard.name in names)

    @property
    def tagged(self) -> bool:
        """Whether the text has language tags. All many-to-many datasets do."""
        return any(shard.languages for shard in self.shards)

    @property
    def language_tags(self) -> LanguageTags:
        """How a model is told the target language."""
        if not self.tagged:
            return "none"
        return "target" if self.settings.get("language_tags") == "target" else "source"

    def reversed(self) -> "Manifest":
        """Return the manifest with source and target exchanged."""
        return replace(
            self,
            source=self.target,
            target=self.source,
            tokenizer=self.source_tokenizer or self.tokenizer,
            source_tokenizer=self.tokenizer if self.source_tokenizer else None,
            shards=tuple(shard.reversed() for shard in self.shards),
        )

    def to_json(self) -> str:
        tree = {"kind": KIND, "format": FORMAT, **asdict(self)}
        for shard in tree["shards"]:
            if shard["languages"] is None:  # older versions of hark do not know it
                del shard["languages"]
            if not shard["bytes"]:
                del shard["bytes"]
        if self.labels is None:
            del tree["labels"]
        return json.dumps(tree, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def read(cls, folder: Path) -> Self:
        path = folder / "manifest.json"
        try:
            tree = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            raise UserError(f"{folder}: not a hark dataset; create one with hark prepare") from None
        except (OSError, ValueError) as error:
            raise UserError(f"{path}: cannot be read: {error}") from None
        if not isinstance(tree, dict) or tree.get("kind") != KIND:
            raise UserError(f"{folder}: not a hark dataset; create one with hark prepare")
        if tree.get("format") != FORMAT:
            raise UserError(
                f"{path}: format {tree.get('format')}; this version of hark reads format {FORMAT}; prepare it again"
            )
        try:
            values = {each.name: tree[each.name] for each in fields(cls) if each.name not in ("checksums", "labels")}
            labels = tree.get("labels")
            values["labels"] = labels and LabelFacts(**{**labels, "names": tuple(labels["names"])})
            values["checksums"] = dict(tree.get("checksums", {}))
            values["sources"] = tuple(SourceFile(**source) for source in values["sources"])
            values["shards"] = tuple(map(shard_from_tree, values["shards"]))
            return cls(**values)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{path}: damaged: {error}; prepare it again") from None


def shard_from_tree(tree: Mapping[str, Any]) -> Shard:
    shard = Shard(**tree)
    if shard.languages is None:
        return shard
    source, target = shard.languages
    return replace(shard, languages=(source, target))


def is_dataset(folder: Path) -> bool:
    """Whether a folder is a hark dataset, of any format version."""
    try:
        tree = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(tree, dict) and tree.get("kind") == KIND


def compute_checksums(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the checksum of each file: the SHA-256 of the SHA-256 digests of its pieces."""
    pieces = [(name, begin) for name in names for begin in range(0, max((folder / name).stat().st_size, 1), PIECE)]
    digests: dict[str, bytes] = {}
    with ThreadPoolExecutor(available_cores()) as pool:
        hashed = pool.map(lambda piece: hash_piece(folder / piece[0], piece[1]), pieces)
        for (name, _), digest in zip(pieces, hashed, strict=True):
            digests[name] = digests.get(name, b"") + digest
    return {name: hashlib.sha256(joined).hexdigest() for name, joined in digests.items()}


def hash_piece(path: Path, begin: int) -> bytes:
    digest, left = hashlib.sha256(), PIECE
    with path.open("rb", buffering=0) as file:
        file.seek(begin)
        while left and (block := file.read(min(left, BLOCK))):
            digest.update(block)
            left -= len(block)
    return digest.digest()


def verify_checksums(folder: Path, expected: Mapping[str, str]) -> None:
    """Raise an error if a file is missing or its checksum differs."""
    try:
        actual = compute_checksums(folder, expected)
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be read: {error.strerror}; prepare the dataset again") from None
    for name, checksum in expected.items():
        if actual[name] != checksum:
            raise UserError(f"{folder / name}: damaged: checksum mismatch; prepare the dataset again")
