"""Weights from files into a model, after it is sure that they are its own."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from hark.bundle import Bundle
from hark.errors import UserError
from hark.model.transformer import Transformer


def read_tensors(path: Path) -> dict[str, Tensor]:
    """What is stored in int8 (see `hark.weights`) is given in float32."""
    try:
        found = safetensors.torch.load_file(path)
        scaled = {name: scale for name in found if (scale := found.get(f"{name}.scale")) is not None}
        restored = {name: found[name].float() / scale[:, None] for name, scale in scaled.items()}
        return {name: each for name, each in found.items() if name.removesuffix(".scale") not in scaled} | restored
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None


def matched(model: nn.Module, values: Mapping[str, Tensor], where: object) -> list[tuple[str, nn.Parameter]]:
    """The model's weights, once it is sure that each has a value of its shape, and each value a weight."""
    weights = list(model.named_parameters())
    different = {name for name, _ in weights} ^ set(values)
    if different:
        raise UserError(f"{where}: its weights are not this model's (differs at {min(different)})")
    for name, weight in weights:
        if weight.shape != values[name].shape:
            shapes = f"{tuple(values[name].shape)} there, {tuple(weight.shape)} here"
            raise UserError(f"{where}: {name} has another shape ({shapes}); is it of another size or vocabulary?")
    return weights


class Undrawn(TorchFunctionMode):
    """Modules made inside have weights of whatever was in memory: drawing them takes longer than reading a file."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func in (nn.init.kaiming_uniform_, nn.init.uniform_, nn.init.normal_, Tensor.uniform_, Tensor.normal_):
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))


def load_model(bundle: Bundle, device: torch.device | str = "cpu") -> Transformer:
    """The network of a bundle, ready to be used."""
    with Undrawn():
        model = Transformer(bundle.config.model)
    values = read_tensors(bundle.weights)
    with torch.no_grad():
        for name, weight in matched(model, values, bundle.folder):
            weight.copy_(values[name])
    return model.to(device).eval()
