"""Downloads from the Hugging Face hub, by huggingface_hub, with its own progress bars and cache; hashes are verified.

huggingface_hub resumes a broken connection where it broke, but forgets an incomplete file when the program ends, and
checks sizes only. So large files are first downloaded to its cache here, where a later run resumes them.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

from hark.errors import HarkError, UserError, require
from hark.exchange.files import BIN, BIN_SHARDS, SAFE, SHARDS

Say = Callable[[str], None]

NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
SMALL = ("*.json", "merges.txt", "vocab.txt", "*.spm", "*.model", "*.yml", "README.md", "*vocabulary.txt", "LICENSE*")
WEIGHTS = {
    SAFE: SAFE,
    SHARDS: "model-*.safetensors",
    BIN: BIN,
    BIN_SHARDS: "pytorch_model-*.bin",
    "model.npz": "*.npz",
    "model.bin": "model.bin",
}
"""Patterns of the weights, by a file that shows that a model has them; the first are preferred."""


def is_hub_name(source: str) -> bool:
    """Whether a source is a name such as Helsinki-NLP/opus-mt-en-fr, and not a path."""
    return NAME.fullmatch(source) is not None and not Path(source).exists()


def is_offline() -> bool:
    """Whether the network is off limits: HARK_OFFLINE=1, or Hugging Face's own HF_HUB_OFFLINE."""
    return any(os.environ.get(name, "") not in ("", "0") for name in ("HARK_OFFLINE", "HF_HUB_OFFLINE"))


def download(name: str, say: Say) -> tuple[Path, str]:
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
            files = about.siblings or []
            wanted = [*SMALL, *weight_files({file.rfilename for file in files})]
            for file in files:
                if file.lfs and any(fnmatch(file.rfilename, pattern) for pattern in wanted):
                    download_blob(name, str(about.sha), file)
            # Without a revision: only then the cache knows which one is the newest.
            folder = Path(huggingface_hub.snapshot_download(name, allow_patterns=wanted))
            if folder.name != about.sha:  # it has just been changed
                about = hub.model_info(name, revision=folder.name, files_metadata=True)
            verify(folder, about.siblings or [])
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


def weight_files(files: set[str]) -> list[str]:
    """The patterns of the weights to download: safetensors if there are any."""
    return [pattern for name, pattern in WEIGHTS.items() if name in files][:1]


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
    incomplete = folder / f"{blob.name}.hark"
    with incomplete.open("ab") as target:
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
    found = digest(incomplete, hashlib.sha256)
    if found != blob.name:
        incomplete.unlink()
        raise damaged(file.rfilename, found, blob.name)
    incomplete.replace(blob)


def damaged(name: str, found: str, expected: str) -> HarkError:
    return HarkError(f"{name}: damaged in transfer (hash {found}, not {expected}); try again")


def verify(folder: Path, files: Iterable[Any]) -> None:
    """Compare downloaded files with the hashes of the hub: sha256 of large files, git's hash of small ones.

    A damaged file is deleted from the cache, so that the next run downloads it again."""
    for file in files:
        path = folder / file.rfilename
        if not path.is_file():  # not wanted
            continue
        if file.lfs is not None:
            expected, found = file.lfs.sha256, digest(path, hashlib.sha256)
        elif file.blob_id:
            prefix = b"blob %d\0" % path.stat().st_size
            expected, found = file.blob_id, digest(path, partial(hashlib.sha1, prefix))
        else:
            continue
        if found != expected:
            path.resolve().unlink()  # the copy in the cache, to which this one is a link
            path.unlink(missing_ok=True)
            raise damaged(file.rfilename, found, expected)


def digest(path: Path, kind: Callable[[], Any]) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()
