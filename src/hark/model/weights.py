"""Loading weights from files, after checking that they fit the model."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from hark.bundle import Bundle
from hark.config import ModelConfig
from hark.errors import UserError
from hark.model.building import new_model
from hark.model.interface import Model
from hark.model.one_stack import OneStack
from hark.model.transformer import Transformer


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a file. Those stored in int8 (see `hark.weights`) are converted to float32."""
    try:
        stored = safetensors.torch.load_file(path)
        scaled = {name: scale for name in stored if (scale := stored.get(f"{name}.scale")) is not None}
        restored = {name: stored[name].float() / scale[:, None] for name, scale in scaled.items()}
        return {name: each for name, each in stored.items() if name.removesuffix(".scale") not in scaled} | restored
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None


def match_weights(model: nn.Module, values: Mapping[str, Tensor], where: object) -> list[tuple[str, nn.Parameter]]:
    """Check that the values match the names and shapes of the model's weights, and return these weights."""
    weights = list(model.named_parameters())
    different = {name for name, _ in weights} ^ set(values)
    if different:
        raise UserError(f"{where}: weights do not match the model (first difference: {min(different)})")
    for name, weight in weights:
        if weight.shape != values[name].shape:
            shapes = f"{tuple(values[name].shape)} in the file, {tuple(weight.shape)} in the model"
            raise UserError(
                f"{where}: {name} has a different shape ({shapes}); check the model size and the vocabulary"
            )
    return weights


class SkipInit(TorchFunctionMode):
    """Leaves the weights of new modules uninitialised: initialising them takes longer than reading them from a file."""

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


class SkipMemory(SkipInit):
    """Gives the matrices of new modules a shape but no memory, for weights that are replaced."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        made = super().__torch_function__(func, types, args, kwargs)
        return made.new_empty(1).expand(made.shape) if func is torch.empty and made.dim() > 1 else made


def load_model(bundle: Bundle, device: torch.device | str = "cpu") -> Transformer:
    """Load the encoder and decoder of a bundle, in evaluation mode."""
    return as_transformer(load_any(bundle, device), bundle.folder)


def as_transformer(model: Model, where: object) -> Transformer:
    if not isinstance(model, Transformer):
        raise UserError(f"{where}: has one stack, {model.config.shape}, so it does not translate")
    return model


def load_one_stack(bundle: Bundle, device: torch.device | str = "cpu") -> OneStack:
    """Load the only stack of a bundle, in evaluation mode."""
    model = load_any(bundle, device)
    if not isinstance(model, OneStack):
        raise UserError(f"{bundle.folder}: has an encoder and a decoder; translate with it")
    return model


def load_any(bundle: Bundle, device: torch.device | str = "cpu") -> Model:
    return build_model(bundle.config.model, read_tensors(bundle.weights), bundle.folder).to(device)


def build_model(config: ModelConfig, values: Mapping[str, Tensor], where: object, share: bool = False) -> Model:
    """Build a model with these weights, in evaluation mode. `where` they are from is for error messages.

    share: the model uses the memory of the values, which may be read-only, instead of a copy."""
    with SkipMemory() if share else SkipInit():
        model = new_model(config)
    with torch.no_grad():
        for name, weight in match_weights(model, values, where):
            if share:
                weight.data = values[name]
            else:
                weight.copy_(values[name])
    return model.eval()
