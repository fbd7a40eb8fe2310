"""Two versions of a document: reading them, their languages, and a model that tells which sentences correspond."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hark.errors import UserError

if TYPE_CHECKING:
    from hark.documents.document import Document
    from hark.documents.pairing import Evidence
    from hark.translate.load import Loaded

SAMPLE = 2_000
"""Characters of a document used for language detection."""


def read_file(path: Path) -> "Document":
    from hark.cli.streams import read_content
    from hark.documents.formats import read_document

    return read_document(str(path), read_content(path))


def find_languages(
    documents: "tuple[Document, Document]", paths: tuple[Path, Path], given: tuple[str | None, str | None]
) -> tuple[str, str]:
    """The languages of two documents, given or detected."""
    from hark.documents.translate import sample
    from hark.text.detector import guess_language, known_languages

    found: list[str] = []
    for document, path, code, option in zip(documents, paths, given, ("-s", "-t"), strict=True):
        guess = code or guess_language("".join(sample(document, SAMPLE)), sorted(known_languages()))
        if guess is None:
            raise UserError(f"{path}: cannot detect the language; set it with {option}")
        found.append(guess)
    if found[0] == found[1]:
        raise UserError(f"{paths[0]} and {paths[1]} are both in {found[0]}; set the languages with -s and -t")
    return found[0], found[1]


class EvidenceFinder:
    """Finds the model for a pair of languages, in either direction; each is loaded once."""

    def __init__(self, model: str | None, use_model: bool, machine: tuple[Any, ...] = ()) -> None:
        self._model, self._use_model, self._machine = model, use_model, machine
        self._loaded: dict[Path, Loaded] = {}

    def find(self, source: str, target: str) -> "Evidence":
        from hark.documents.pairing import Evidence

        if not self._use_model:
            return Evidence()
        for pair in ((source, target), (target, source)):
            if (loaded := self._load(*pair)) is not None:
                return Evidence(partial(translate_quickly, loaded, *pair), reverse=pair != (source, target))
        if self._model is not None:
            raise UserError(f"{self._model}: does not translate between {source} and {target}")
        sys.stderr.write(f"no model between {source} and {target}: comparing lengths and identical words only\n")
        return Evidence()

    def _load(self, source: str, target: str) -> "Loaded | None":
        from hark import models
        from hark.cli.model_choice import model_codes
        from hark.translate.load import Loaded

        try:
            known = None if self._model is not None else models.choose(source, target, models.list_models())
        except UserError:
            return None
        folder = known[0].folder if known else models.named_folder(self._model or "")
        if folder not in self._loaded:
            self._loaded[folder] = Loaded(folder, *self._machine)
        try:
            model_codes(self._loaded[folder], source, target)
        except UserError:
            return None
        return self._loaded[folder]


def translate_quickly(loaded: "Loaded", source: str, target: str, texts: list[str]) -> list[str]:
    """Translate sentences well enough to compare their words."""
    from hark.cli.document_run import segment_progress
    from hark.cli.model_choice import model_codes

    codes = dict(zip(("source", "target"), model_codes(loaded, source, target), strict=True))
    translated: list[str] = []
    with segment_progress(f"{source} to {target}", len(texts)) as advance:
        for each in loaded.translate(texts, **codes, beam=1, check=False, split=False, formality=None):
            translated.append(each.text)
            advance(1)
    return translated
