"""`hark align`: sentence pairs from a document and its translation."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hark.cli import options
from hark.cli.options import argument, option, switch
from hark.errors import UserError

if TYPE_CHECKING:
    from hark.documents.alignment import Evidence
    from hark.documents.formats import Document
    from hark.documents.tmx import TranslationUnit
    from hark.translate.load import Loaded

SAMPLE_CHARS = 2_000
"""How much of a document language detection reads."""


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
    for document, path, code, name in zip(documents, paths, given, ("-s", "-t"), strict=True):
        guess = code or guess_language("".join(sample(document, SAMPLE_CHARS)), sorted(known_languages()))
        if guess is None:
            raise UserError(f"{path}: cannot detect the language; set it with {name}")
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
        from hark.documents.alignment import Evidence

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
    from hark.cli.model_choice import model_codes
    from hark.cli.streams import shown_count

    codes = dict(zip(("source", "target"), model_codes(loaded, source, target), strict=True))
    translated: list[str] = []
    with shown_count("{task.completed:,} of {task.total:,} segments", len(texts), f"{source} to {target}") as advance:
        for each in loaded.translate(texts, **codes, beam=1, check=False, split=False, formality=None):
            translated.append(each.text)
            advance(1)
    return translated


EXAMPLES = (
    "hark align contract.docx vertrag.docx -o pairs.tsv",
    "hark align manual/en manual/de -s en -t de -o memory.tmx --drop-low",
)


def align(
    source_path: Annotated[Path, argument("PATH", "A document, or a folder of documents.")],
    target_path: Annotated[Path, argument("PATH", "Its translation, or a folder of them.")],
    output: Annotated[Path, option("-o --output", "FILE", "Write the pairs to this .tsv or .tmx file.")],
    source: Annotated[str | None, option("-s --source", "LANG", "Language of the first; detected by default.")] = None,
    target: Annotated[str | None, option("-t --target", "LANG", "Language of the second; detected by default.")] = None,
    model: options.Model = None,
    use_model: Annotated[
        bool, switch("--model-words/--no-model-words", "Compare words with the model's own translations.")
    ] = True,
    drop_low: Annotated[bool, switch("--drop-low", "Leave out pairs with a low score.")] = False,
    force: options.Force = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Make sentence pairs from a document and its translation.

    The pairs serve as training text (hark prepare) and as a translation memory. Each has a score from 0 to 1; those
    below 0.8 are marked as low, and are not read by hark prepare and --memory. Of two folders, files with the same name
    are paired: letter.docx, letter.en.docx and letter.de.odt belong together.
    """
    from io import BytesIO

    from hark.cli import leave_at_once
    from hark.cli.streams import writer
    from hark.documents.alignment import pair_documents
    from hark.documents.tmx import add_units, new_tmx, to_tsv

    kind = output.suffix.lower()
    if kind not in (".tsv", ".tmx"):
        raise UserError(f"{output}: pairs are written to a .tsv or .tmx file")
    if output.exists() and not force:
        raise UserError(f"{output}: already exists; name another file, or replace it with --force")
    evidence = EvidenceFinder(model, use_model, ("auto", device, "auto", threads))
    units: list[TranslationUnit] = []
    alone = [0, 0]
    languages: tuple[str, str] | None = None
    try:
        for one, other in match_files(source_path, target_path):
            documents = read_file(one), read_file(other)
            languages = languages or find_languages(documents, (one, other), (source, target))
            paired = pair_documents(*documents, languages, evidence.find(*languages))
            units += paired.units
            alone = [total + each for total, each in zip(alone, paired.alone, strict=True)]
    except KeyboardInterrupt as interrupt:
        leave_at_once(interrupt)
    assert languages is not None
    low = sum(unit.low for unit in units)
    written = [unit for unit in units if not (drop_low and unit.low)]
    with writer(output) as file:
        if kind == ".tmx":
            file.writelines(add_units(BytesIO(new_tmx(languages[0])), written, *languages, output))
        else:
            file.write(to_tsv(written))
    sys.stderr.write(
        f"{output}: {len(written):,} pairs, {'without ' if drop_low else ''}{low:,} low; sentences without a partner: "
        f"{alone[0]:,} {languages[0]}, {alone[1]:,} {languages[1]}\n"
    )


def match_files(source: Path, target: Path) -> list[tuple[Path, Path]]:
    """The two files, or the files of two folders that have the same name."""
    if not source.is_dir() and not target.is_dir():
        return [(source, target)]
    if not source.is_dir() or not target.is_dir():
        raise UserError(f"{source} and {target}: name two files or two folders")
    sides = [index_files(folder) for folder in (source, target)]
    names = [name for name in sides[0] if name in sides[1]]
    single = [str(path) for side, other in (sides, sides[::-1]) for name, path in side.items() if name not in other]
    if single:
        sys.stderr.write(f"without a partner: {', '.join(single[:5])}{', ...' if len(single) > 5 else ''}\n")
    if not names:
        raise UserError(f"{source} and {target}: no two documents have the same name")
    return [(sides[0][name], sides[1][name]) for name in names]


def index_files(folder: Path) -> dict[str, Path]:
    """The documents of a folder and below by name, without suffix and language code."""
    import re

    from hark.cli.documents import is_hidden
    from hark.documents.formats import find_suffix

    files: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and find_suffix(path.name) and not is_hidden(path, folder):
            stem = re.sub(r"[._-][a-z]{2}(?:[_-][A-Za-z]{2,4})?$", "", path.stem) or path.stem
            first = files.setdefault((path.relative_to(folder).parent / stem).as_posix(), path)
            if first != path:
                sys.stderr.write(f"{path}: left out, because {first.name} has the same name\n")
    return files
