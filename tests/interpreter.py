"""Triton's interpreter, without what it repeats."""

import inspect
import sys
from collections.abc import Sequence
from typing import Any

NEEDED = (
    "GridExecutor", "_LangPatchScope", "_patch_builtin", "_patch_lang", "_get_np_dtype", "interpreter_semantic",
)  # fmt: skip
"""What we replace or call. An interpreter of another version without it stays as it is."""


def hasten_interpreter() -> None:
    """Let Triton's interpreter keep what it would compute again for every operation: up to half of its time. Does
    nothing if Triton is not in use."""
    interpreter: Any = sys.modules.get("triton.runtime.interpreter")
    if all(hasattr(interpreter, name) for name in NEEDED):
        patch_language_once(interpreter)
        keep_types(interpreter)
        pass_equal_shapes(interpreter)
        pass_equal_types(interpreter)
        find_operations_once(interpreter)
        drop_unused_checks(interpreter)


def patch_language_once(interpreter: Any) -> None:
    """Triton's interpreter replaces the functions of `triton.language` at every call of a function in a kernel; once
    for each kernel is enough."""
    run, patch = interpreter.GridExecutor.__call__, interpreter._patch_lang
    languages = (interpreter.tl, interpreter.tl.core)
    patched: set[int] = set()
    used: dict[Any, set[int]] = {}

    def patch_once(function: Any) -> Any:
        if function not in used:
            variables = function.__globals__.values()
            used[function] = {id(each) for each in variables if any(each is known for known in languages)}
        needed = used[function]
        if needed and needed <= patched:
            return interpreter._LangPatchScope()
        patched.update(needed)
        return patch(function)

    def run_kernel(self: Any, *arguments: Any, **named: Any) -> None:
        patched.clear()
        try:
            run(self, *arguments, **named)
        finally:
            patched.clear()

    interpreter.GridExecutor.__call__, interpreter._patch_lang = run_kernel, patch_once


def keep_types(interpreter: Any) -> None:
    """Kernels have a few types, of which the interpreter makes an object for every operation: equal ones share what
    was computed for the first."""
    core = interpreter.tl.core
    block, tensor, constant = core.block_type, core.tensor, core.constexpr
    make_block, make_tensor, unwrap, find = (
        block.__init__,
        tensor.__init__,
        core._unwrap_if_constexpr,
        interpreter._get_np_dtype,
    )
    blocks: dict[tuple[Any, ...], dict[str, Any]] = {}
    arrays: dict[str, Any] = {}

    def init_block(self: Any, element_ty: Any, shape: Sequence[Any]) -> None:
        key = (element_ty.name, *(each.value if type(each) is constant else each for each in shape))
        if type(self) is block and key in blocks:
            self.__dict__ = blocks[key]
            return
        make_block(self, element_ty, shape)
        if type(self) is block:
            blocks[key] = vars(self)

    def init_tensor(self: Any, handle: Any, kind: Any) -> None:
        kept = vars(kind).get("of_tensors")
        if kept is None:
            make_tensor(self, handle, kind)
            vars(kind)["of_tensors"] = self.shape, self.numel, self.dtype
            return
        self.handle, self.type = handle, kind
        self.shape, self.numel, self.dtype = kept

    def unwrap_quickly(value: Any) -> Any:
        kind = type(value)
        if kind is int or kind is tensor or kind is block:
            return value
        return value.value if kind is constant else unwrap(value)

    def find_array_type(kind: Any) -> Any:
        name = kind.scalar.name
        if name not in arrays:
            arrays[name] = find(kind)
        return arrays[name]

    block.__init__, tensor.__init__ = init_block, init_tensor
    core._unwrap_if_constexpr, interpreter._get_np_dtype = unwrap_quickly, find_array_type


def pass_equal_shapes(interpreter: Any) -> None:
    """Two blocks of one shape need no broadcasting, and a type equals itself."""
    core, semantic = interpreter.tl.core, type(interpreter.interpreter_semantic)
    block, kind = core.block_type, core.dtype
    broadcast, equal = semantic.broadcast_impl_value, kind.__eq__

    def broadcast_others(self: Any, one: Any, other: Any) -> Any:
        same = type(one.type) is type(other.type) is block and one.type.shape.values == other.type.shape.values
        return (one, other) if same else broadcast(self, one, other)

    semantic.broadcast_impl_value = broadcast_others
    kind.__eq__ = lambda self, other: self is other or equal(self, other)


def pass_equal_types(interpreter: Any) -> None:
    """An operation of two tensors of one type is computed in that type, without conversion."""
    language, semantic = interpreter.tl, type(interpreter.interpreter_semantic)
    check = semantic.binary_op_type_checking_impl
    plain = {each.name for each in (language.float32, language.int32, language.int64, language.uint32)}

    def check_others(self: Any, one: Any, other: Any, *options: Any, **named: Any) -> Any:
        if type(one) is type(other) is language.tensor and one.dtype.name == other.dtype.name in plain:
            return self.broadcast_impl_value(one, other)
        return check(self, one, other, *options, **named)

    semantic.binary_op_type_checking_impl = check_others


def find_operations_once(interpreter: Any) -> None:
    """For every kernel, the interpreter looks through `triton.language` for operations, and calls them by detours."""
    semantic, is_operation = interpreter.interpreter_semantic, interpreter.tl.core.is_builtin
    known: dict[Any, list[tuple[str, Any]]] = {}

    def bind(member: Any) -> Any:
        operation = getattr(member, "__wrapped__", member)  # without a test that it is called from a kernel

        def run(*arguments: Any, **named: Any) -> Any:
            named["_semantic"] = semantic
            return operation(*arguments, **named)

        return run

    def patch_operations(package: Any, _: Any, scope: Any) -> None:
        if package not in known:
            found = inspect.getmembers(package, is_operation)
            known[package] = [(name, bind(member)) for name, member in found]
        for name, member in known[package]:
            scope.set_attr(package, name, member)

    interpreter._patch_builtin = patch_operations


def drop_unused_checks(interpreter: Any) -> None:
    """Unless it debugs, the interpreter repeats every sum and product of integers in 64 bits, compares the two, and
    ignores what it found."""
    semantic = type(interpreter.interpreter_semantic)
    check = semantic.binary_op_sanitize_overflow_impl

    def check_if_used(self: Any, *operation: Any) -> None:
        if self.builder.options.debug:
            check(self, *operation)

    semantic.binary_op_sanitize_overflow_impl = check_if_used
