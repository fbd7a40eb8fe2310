"""Recording of the outputs of torch modules, to find the layer in which two models first differ."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from hark.weights import Array


@contextmanager
def recorded(modules: Mapping[str, Any]) -> Iterator[dict[str, Array]]:
    """Yield a dictionary that receives the output of each module of the next forward pass, without the batch axis."""
    found: dict[str, Array] = {}

    def record(module: Any, inputs: Any, output: Any, name: str) -> None:  # noqa: ARG001
        output = output[0] if isinstance(output, tuple) else output
        found[name] = output[0].float().numpy()

    hooks = [module.register_forward_hook(partial(record, name=name)) for name, module in modules.items()]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()
