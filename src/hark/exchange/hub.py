"""Downloads from the Hugging Face hub, by huggingface_hub: resumable, with its own progress bars and cache."""

import os
import re
from pathlib import Path

from hark.errors import HarkError, UserError, require
from hark.exchange.files import BIN, BIN_SHARDS, SAFE, SHARDS

NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
SMALL = ("*.json", "*.spm", "*.model", "*.yml", "README.md", "*vocabulary.txt", "LICENSE*")


def is_hub_name(source: str) -> bool:
    """Whether a source is a name such as Helsinki-NLP/opus-mt-en-fr, and not a path."""
    return NAME.fullmatch(source) is not None and not Path(source).exists()


def is_offline() -> bool:
    """Whether the network is off limits: HARK_OFFLINE=1, or Hugging Face's own HF_HUB_OFFLINE."""
    return any(os.environ.get(name, "") not in ("", "0") for name in ("HARK_OFFLINE", "HF_HUB_OFFLINE"))


def download(name: str) -> tuple[Path, str]:
    """Return the folder of a model's files and its revision. Offline, only the cache is used and no socket opened."""
    require("huggingface_hub", "hf", f"downloading {name}")
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    try:
        if is_offline():
            folder = Path(huggingface_hub.snapshot_download(name, local_files_only=True))
        else:
            files = set(huggingface_hub.list_repo_files(name))
            folder = Path(huggingface_hub.snapshot_download(name, allow_patterns=[*SMALL, *weight_files(files)]))
    except (LocalEntryNotFoundError, OfflineModeIsEnabled):
        reason = "HARK_OFFLINE is set" if is_offline() else "there is no network"
        raise UserError(
            f"{name}: no such folder here, and {reason}; download it elsewhere and name its folder"
        ) from None
    except HfHubHTTPError as error:
        raise UserError(f"{name}: the Hugging Face hub has no such model ({str(error).splitlines()[0]})") from None
    except Exception as error:  # of httpx, requests or the operating system, depending on the version
        problem = (str(error).splitlines() or [type(error).__name__])[0]
        raise HarkError(f"{name}: cannot be downloaded ({problem}); try again, it resumes, or name a folder") from None
    return folder, folder.name


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
