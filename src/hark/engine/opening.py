"""Opens the right engine for a bundle and the machine."""

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, cast

from hark.bundle import Bundle
from hark.config import Precision
from hark.engine.interface import AlignmentHeads, Engine
from hark.errors import UserError, require
from hark.text.vocabulary import SpecialIds

if TYPE_CHECKING:
    from hark.engine.ctranslate2 import ComputeType

EngineName = Literal["auto", "ctranslate2", "torch"]
ComputePrecision = Literal["auto", "int8", "int16", "float32", "bfloat16"]


def open_engine(
    bundle: Bundle,
    special: SpecialIds,
    engine: EngineName = "auto",
    device: str = "auto",
    precision: ComputePrecision = "auto",
    threads: int | None = None,
) -> Engine:
    """Open an engine: by default CTranslate2 on a CPU, the torch engine on a GPU or for models that CTranslate2 does
    not compute.

    The alignment heads come from the bundle's facts.
    """
    shape = bundle.config.model.shape
    if shape == "encoder":
        raise UserError(f"{bundle.folder}: has an encoder alone, so it generates no text")
    alignment = AlignmentHeads.of_facts(bundle.facts.alignment, bundle.config.model)
    if engine == "auto" and (device.startswith("cuda") or (device == "auto" and gpu_is_usable())):
        engine = "torch"
    if engine != "torch":
        from hark.engine.conversion import obstacle

        reason = "has a decoder alone" if shape == "decoder" else obstacle(bundle.config.model)
        if reason and engine == "ctranslate2":
            raise UserError(f"{bundle.folder}: {reason}; use --engine torch")
        engine = "torch" if reason else "ctranslate2"
    if engine == "ctranslate2":
        if device not in ("auto", "cpu"):
            raise UserError(f"--engine ctranslate2 runs on the CPU only; use --engine torch for {device}")
        from hark.engine.ctranslate2 import CTranslate2Engine

        # Not every CPU multiplies in int8.
        chosen = default_precision() if precision == "auto" else precision
        return CTranslate2Engine.open(bundle, special, chosen, threads, alignment)
    require("torch", "train", "the torch engine")
    if precision in ("int8", "int16"):
        raise UserError(f"--engine torch does not support {precision}; use float32 or bfloat16")
    from hark.engine.torch import TorchEngine
    from hark.model.weights import load_any

    on = torch_device(device)
    if threads and on == "cpu":
        import torch

        torch.set_num_threads(threads)
    return TorchEngine(load_any(bundle, on), special, on, cast(Precision, precision), alignment=alignment)


def default_precision() -> "ComputeType":
    import ctranslate2  # type: ignore[import-untyped]

    return "int8" if "int8" in ctranslate2.get_supported_compute_types("cpu") else "float32"


def gpu_is_usable() -> bool:
    """Whether torch can use a GPU. Torch is imported only if the machine has a GPU's device file."""
    device_files = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
    if not any(map(os.path.exists, device_files)) or find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()


def torch_device(device: str) -> str:
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        parsed = torch.device(device)
    except RuntimeError:
        raise UserError(f"{device}: no such device; use cpu, cuda or cuda:1") from None
    if parsed.type == "cuda" and (parsed.index or 0) >= torch.cuda.device_count():
        raise UserError(f"{device}: no such GPU; this machine has {torch.cuda.device_count()}")
    return device
