"""A catalogue of public models that `hark models get` can fetch: names of OPUS-MT models, shipped as data.

Searching needs no network. Sizes are approximate. Where the licence is not known, it is one of two, and the page of the
model says which.

Downloads from the Hugging Face hub, by huggingface_hub, with its own progress bars and cache; hashes are verified.

huggingface_hub resumes a broken connection where it broke, but forgets an incomplete file when the program ends, and
checks sizes only. So large files are first downloaded to its cache here, where a later run resumes them.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from hark.configfile import suggest
from hark.errors import HarkError, UserError, require
from hark.exchange.files import BIN, BIN_SHARDS, SAFE, SHARDS

NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
SMALL = ("*.json", "merges.txt", "*.spm", "*.model", "*.yml", "README.md", "*vocabulary.txt", "LICENSE*")


def is_hub_name(source: str) -> bool:
    """Whether a source is a name such as Helsinki-NLP/opus-mt-en-fr, and not a path."""
    return NAME.fullmatch(source) is not None and not Path(source).exists()


def is_offline() -> bool:
    """Whether the network is off limits: HARK_OFFLINE=1, or Hugging Face's own HF_HUB_OFFLINE."""
    return any(os.environ.get(name, "") not in ("", "0") for name in ("HARK_OFFLINE", "HF_HUB_OFFLINE"))


def download(name: str, say: Callable[[str], None] = lambda _: None) -> tuple[Path, str]:
    """Return the folder of a model's files and its revision. Offline, only the cache is used and no socket opened."""
    require("huggingface_hub", "hf", f"downloading {name}")
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    try:
        if is_offline():
            folder = Path(huggingface_hub.snapshot_download(name, local_files_only=True))
        else:
            say(f"downloading {name}")
            hub = huggingface_hub.HfApi()
            about = hub.model_info(name, files_metadata=True)
            files = {each.rfilename for each in about.siblings or ()}
            wanted = [*SMALL, *weight_files(files)]
            large = [each for each in about.siblings or () if each.lfs and matches(each.rfilename, wanted)]
            for each in large:
                download_blob(name, str(about.sha), each)
            # Without a revision: only then the cache knows which one is the newest.
            folder = Path(huggingface_hub.snapshot_download(name, allow_patterns=wanted))
            if folder.name != about.sha:  # it has just been changed
                about = hub.model_info(name, revision=folder.name, files_metadata=True)
            verify(folder, about.siblings or ())
    except (LocalEntryNotFoundError, OfflineModeIsEnabled):
        reason = "HARK_OFFLINE is set" if is_offline() else "there is no network"
        raise UserError(
            f"{name}: no such folder here, and {reason}; download it elsewhere and name its folder"
        ) from None
    except HarkError:
        raise
    except HfHubHTTPError as error:
        raise UserError(f"{name}: the Hugging Face hub has no such model ({str(error).splitlines()[0]})") from None
    except Exception as error:  # of httpx, requests or the operating system, depending on the version
        problem = (str(error).splitlines() or [type(error).__name__])[0]
        raise HarkError(f"{name}: cannot be downloaded ({problem}); try again, or name a folder") from None
    return folder, folder.name


def matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def download_blob(name: str, revision: str, file: Any) -> None:
    """Download a large file to the place in huggingface_hub's cache where it looks for it, unless it is there. What an
    earlier run left of it is kept."""
    from huggingface_hub import constants, hf_hub_url
    from huggingface_hub.file_download import http_get, repo_folder_name
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    folder = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=name, repo_type="model") / "blobs"
    blob = folder / file.lfs.sha256
    if blob.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{blob.name}.hark"
    with partial.open("ab") as target:
        if target.tell() > file.lfs.size:  # two runs wrote to it at once
            target.seek(0)
            target.truncate()
        http_get(
            hf_hub_url(name, file.rfilename, revision=revision),
            target,
            resume_size=target.tell(),
            headers=build_hf_headers(),
            expected_size=file.lfs.size,
            displayed_filename=file.rfilename,
        )
    found = digest(partial, hashlib.sha256())
    if found != blob.name:
        partial.unlink()
        raise damaged(file.rfilename, found, blob.name)
    partial.replace(blob)


def damaged(name: str, found: str, expected: str) -> HarkError:
    return HarkError(f"{name}: damaged in transfer (hash {found}, not {expected}); try again")


def verify(folder: Path, files: Iterable[Any]) -> None:
    """Compare downloaded files with the hashes of the hub: sha256 of large files, git's hash of small ones.

    A damaged file is deleted from the cache, so that the next run downloads it again."""
    for each in files:
        path = folder / each.rfilename
        if not path.is_file():  # not wanted
            continue
        if each.lfs is not None:
            expected, found = each.lfs.sha256, digest(path, hashlib.sha256())
        elif each.blob_id:
            expected, found = each.blob_id, digest(path, hashlib.sha1(b"blob %d\0" % path.stat().st_size))
        else:
            continue
        if found != expected:
            path.resolve().unlink()  # the copy in the cache, to which this one is a link
            path.unlink(missing_ok=True)
            raise damaged(each.rfilename, found, expected)


def digest(path: Path, whole: Any) -> str:
    """Add the content of a file to a hash; return it in hexadecimal."""
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            whole.update(block)
    text: str = whole.hexdigest()
    return text


def weight_files(files: set[str]) -> list[str]:
    """The patterns of the weights to download: safetensors if there are any."""
    for name, patterns in (
        (SAFE, [SAFE]),
        (SHARDS, ["model-*.safetensors"]),
        (BIN, [BIN]),
        (BIN_SHARDS, ["pytorch_model-*.bin"]),
        ("model.npz", ["*.npz"]),
        ("model.bin", ["model.bin"]),
    ):
        if name in files:
            return patterns
    return []


OWNER = "Helsinki-NLP"
PREFIX = "opus-mt-"
LICENCE = "CC-BY-4.0 or Apache-2.0"
"""OPUS-MT models are published under one of these."""
USUAL_CODES = {"jap": "ja"}
"""Codes of languages that others write otherwise."""
MEGABYTES = 300
"""Typical size of the weights: 75 million in float32."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class CatalogueEntry:
    """A model that can be fetched."""

    name: str
    """Without its owner, such as `opus-mt-en-fr`."""
    source: str
    target: str
    licence: str = LICENCE
    megabytes: int = MEGABYTES

    @property
    def address(self) -> str:
        """The name on the Hugging Face hub."""
        return f"{OWNER}/{self.name}"

    def matches(self, text: str) -> bool:
        """Whether it translates from or to a language, has this pair (`en-fr`), or has the text in its name."""
        text = text.strip().lower()
        codes = self.source.lower(), self.target.lower()
        return text in codes or text == "-".join(codes) or (len(text) > 3 and text in self.address.lower())


@cache
def read_catalogue() -> tuple[CatalogueEntry, ...]:
    lines = Path(__file__).with_name("opus-mt.txt").read_text(encoding="utf-8").splitlines()
    pairs, licences = [], {}
    for line in lines:
        if line.startswith("#"):
            continue
        licence, equals, names = line.partition(" = ")
        if equals:
            licences.update(dict.fromkeys(names.split(), licence))
            continue
        source, _, targets = line.partition(": ")
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


def advise(source: str | None, target: str | None) -> str:
    """The command that gets a public model of a pair, or finds those of a language; empty if there is none."""
    for entry in read_catalogue():
        if (entry.source, entry.target) == (source, target):
            return f"hark models get {entry.name}"
    for code in (target, source):
        if code is not None and search(code):
            return f"hark models --search {code}"
    return ""


def search(text: str) -> list[CatalogueEntry]:
    """The models that match a language, a pair or a part of a name."""
    return [entry for entry in read_catalogue() if entry.matches(text)]


def find(name: str) -> CatalogueEntry:
    """The entry of a name: with or without its owner, or a language pair."""
    short = name.removeprefix(f"{OWNER}/")
    for entry in read_catalogue():
        if short in (entry.name, f"{entry.source}-{entry.target}"):
            return entry
    hint = suggest(short if short.startswith(PREFIX) else PREFIX + short, [entry.name for entry in read_catalogue()])
    remedy = hint if "did you mean" in hint else "; find names with hark models --search LANG"  # not hundreds of names
    raise UserError(f"{name}: not in the catalogue{remedy}")


def fetch(entry: CatalogueEntry, folder: Path, force: bool, say: Say) -> None:
    """Download and import a model as a bundle. This is the only call into the import half of the exchange."""
    importer = import_module("hark.exchange.importer")
    importer.import_model(importer.ImportRequest(entry.address), folder, force, say)
