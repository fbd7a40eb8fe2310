"""A catalogue of public models that `hark models get` can fetch, shipped as data: OPUS-MT's, which translate, and those
that translate no pairs, such as GPT-2, BERT and T5.

Searching needs no network. Sizes are approximate. Where the licence is not known, it is one of two, and the page of the
model says which.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hark.configfile import suggest
from hark.errors import UserError
from hark.exchange.hub import Say

OWNER = "Helsinki-NLP"
PREFIX = "opus-mt-"
LICENCE = "CC-BY-4.0 or Apache-2.0"
"""OPUS-MT models are published under one of these."""
USUAL_CODES = {"jap": "ja"}
"""Codes of languages that others write otherwise."""
MEGABYTES = 300
"""Typical size of the weights: 75 million in float32."""


@dataclass(frozen=True)
class CatalogueEntry:
    """A model that can be fetched."""

    name: str
    """Without its owner, such as `opus-mt-en-fr`."""
    source: str
    """The language that it translates from, or of the text that it was trained on."""
    target: str
    """Empty, if it does not translate."""
    licence: str = LICENCE
    megabytes: int = MEGABYTES
    owner: str = OWNER

    @property
    def languages(self) -> str:
        return f"{self.source} to {self.target}" if self.target else self.source

    @property
    def address(self) -> str:
        """The name on the Hugging Face hub."""
        return f"{self.owner}/{self.name}"

    def matches(self, text: str) -> bool:
        """Whether it translates from or to a language, has this pair (`en-fr`), or has the text in its name."""
        text = text.strip().lower()
        codes = [code.lower() for code in (self.source, self.target) if code]
        return text in codes or text == "-".join(codes) or (len(text) > 3 and text in self.address.lower())


@cache
def read_catalogue() -> tuple[CatalogueEntry, ...]:
    lines = Path(__file__).with_name("opus-mt.txt").read_text(encoding="utf-8").splitlines()
    pairs, licences = [], {}
    for line in lines:
        if line.startswith("#"):
            continue
        if " = " in line:
            licence, names = line.split(" = ")
            licences.update(dict.fromkeys(names.split(), licence))
        else:
            source, targets = line.split(": ")
            pairs += [(source, target) for target in targets.split()]
    return tuple(
        CatalogueEntry(
            f"{PREFIX}{source}-{target}",
            USUAL_CODES.get(source, source),
            USUAL_CODES.get(target, target),
            licences.get(f"{source}-{target}", LICENCE),
        )
        for source, target in pairs
    )


@cache
def read_others() -> tuple[CatalogueEntry, ...]:
    """The models that do not translate."""
    lines = Path(__file__).with_name("without-pairs.txt").read_text(encoding="utf-8").splitlines()
    entries = []
    for line in lines:
        if not line.startswith("#"):
            address, megabytes, licence, language = line.split(" ")
            owner, name = address.split("/")
            entries.append(CatalogueEntry(name, language, "", licence, int(megabytes), owner))
    return tuple(entries)


def advise(source: str | None, target: str | None) -> str:
    """The command that gets a public model of a pair, or finds those of a language; empty if there is none."""
    for entry in read_catalogue():
        if (entry.source, entry.target) == (source, target):
            return f"hark models get {entry.name}"
    for code in (target, source):
        if code is not None and any(entry.matches(code) for entry in read_catalogue()):
            return f"hark models --search {code}"
    return ""


def search(text: str) -> list[CatalogueEntry]:
    """The models that match a language, a pair or a part of a name."""
    return [entry for entry in (*read_catalogue(), *read_others()) if entry.matches(text)]


def find(name: str) -> CatalogueEntry:
    """The entry of a name: with or without its owner, or a language pair."""
    for entry in read_others():
        if name in (entry.name, entry.address):
            return entry
    short = name.removeprefix(f"{OWNER}/")
    for entry in read_catalogue():
        if short in (entry.name, f"{entry.source}-{entry.target}"):
            return entry
    hint = suggest(short if short.startswith(PREFIX) else PREFIX + short, [entry.name for entry in read_catalogue()])
    remedy = hint if "did you mean" in hint else "; find names with hark models --search LANG"  # not hundreds of names
    raise UserError(f"{name}: not in the catalogue{remedy}")


def fetch(entry: CatalogueEntry, folder: Path, force: bool, say: Say) -> None:
    """Download and import a model as a bundle."""
    from hark.exchange.importer import ImportRequest, import_model  # slow to import, and not needed to search

    import_model(ImportRequest(entry.address), folder, force, say)
