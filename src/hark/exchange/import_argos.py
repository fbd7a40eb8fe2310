"""Reading of Argos packages: a zip file with metadata.json, a CTranslate2 model and its sentencepiece model."""

import shutil
import stat
import zipfile
from pathlib import Path, PurePosixPath

from hark.errors import UserError
from hark.exchange.files import read_json
from hark.exchange.foreign import ForeignModel
from hark.exchange.import_ctranslate2 import read_ctranslate2
from hark.exchange.language_codes import Languages, refuse_others

WANTED = ("metadata.json", "README.md", "sentencepiece.model", "bpe.model")
MAX_ENTRIES = 10_000
MAX_SIZE = 8 << 30
MAX_RATIO = 50
"""Largest plausible ratio of unpacked to packed size; packages have about 1.2."""


def unpack(path: Path, folder: Path) -> Path:
    """Unpack the files that are needed; return the folder with metadata.json. A folder is used as it is."""
    if path.is_dir():
        return path
    try:
        with zipfile.ZipFile(path) as package:
            root = check(package, path)
            for entry in package.infolist():
                inner = PurePosixPath(entry.filename).relative_to(root)
                if entry.is_dir() or not (str(inner) in WANTED or inner.parts[:1] == ("model",)):
                    continue
                to = folder.joinpath(*inner.parts)
                to.parent.mkdir(parents=True, exist_ok=True)
                with package.open(entry) as content, to.open("wb") as file:
                    shutil.copyfileobj(content, file)
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise UserError(f"{path}: not a valid package, or incomplete ({str(error).splitlines()[0]})") from None
    return folder


def check(package: zipfile.ZipFile, path: Path) -> PurePosixPath:
    """Refuse what no package has: paths out of the folder, links, implausible sizes. Return the package's folder."""
    entries = package.infolist()
    size = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_ENTRIES or size > MAX_SIZE or size > MAX_RATIO * max(1, path.stat().st_size):
        raise UserError(f"{path}: would unpack to {len(entries)} files with {size:,} bytes, which is not plausible")
    for entry in entries:
        parts = PurePosixPath(entry.filename).parts
        if entry.filename.startswith("/") or ".." in parts or "\\" in entry.filename or ":" in entry.filename:
            raise UserError(f"{path}: contains the path {entry.filename!r}, which leads out of the package")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise UserError(f"{path}: contains a link, {entry.filename!r}")
    paths = [PurePosixPath(entry.filename) for entry in entries]
    roots = [inner.parent for inner in paths if str(inner).endswith("metadata.json")]
    if not roots:
        raise UserError(f"{path}: not an Argos package: metadata.json is missing")
    root = min(roots, key=lambda root: len(root.parts))
    if not all(inner.is_relative_to(root) for inner in paths):
        raise UserError(f"{path}: contains files outside of {root}")
    return root


def read_argos(folder: Path, languages: Languages, source: str) -> ForeignModel:
    """Read an unpacked package."""
    metadata = read_json(folder / "metadata.json")
    if metadata.get("type", "translate") != "translate":
        raise UserError(f"{source}: is a package of the type {metadata['type']!r}, not a translation model")
    codes = [metadata.get(name) for name in ("from_code", "to_code")]
    if not all(isinstance(code, str) and code for code in codes) and not all(languages):
        raise UserError(f"{source}: metadata.json has no language codes; name them with -s and -t")
    known = (str(codes[0]),), (str(codes[1]),)
    refuse_others(languages, known, source)
    given = languages[0] or known[0], languages[1] or known[1]
    return read_ctranslate2(folder / "model", given, source, folder, "argos")
