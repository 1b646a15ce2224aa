"""Calls that are not written as plain calls in the program: callbacks, named arguments, pipe steps."""

from __future__ import annotations

from types import FunctionType, MethodType

from language.errors import RuntimeFault
from language.registry import REQUIRED
from language.values import type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from typing import Any

    from language.registry import Builtin

VARARGS = 0x04


def not_callable(value: Any) -> RuntimeFault:
    """The error of calling a value that is not a task."""
    return cannot_call(type_of(value))


def cannot_call(kind: str) -> RuntimeFault:
    """The error of calling a value of that type, which cannot be called."""
    likely = "a multiplication is written with `*`" if kind == "number" else "perhaps a variable has the name of the task"
    help_ = f"only a task or a builtin can be called: {likely}"
    return RuntimeFault(f"Cannot call value of type {kind}", kind="type", code="E0303", help=help_)


def callback(function: Any, count: int) -> Callable[..., Any]:
    """A Python callable that takes ``count`` language values and calls ``function`` by the loose rule.

    Extra values are dropped, missing ones take the default or ``nothing``. Constructors keep their exact count. Raises
    ``RuntimeFault`` when ``function`` is not callable.
    """
    kind = type(function)
    if kind is FunctionType:
        code, bound = function.__code__, 0
    elif kind is MethodType:
        code, bound = function.__func__.__code__, 1
    else:
        raise not_callable(function)
    if code.co_flags & VARARGS or is_constructor(code.co_name):
        return function  # type: ignore[no-any-return]
    most: int = code.co_argcount - bound
    if most == count:
        return function  # type: ignore[no-any-return]
    defaults = len(function.__defaults__ or ())
    if most < count:
        return lambda *values: function(*values[:most])
    missing = most - defaults - count
    declared: tuple[Any, ...] = function.__defaults__ or ()
    if missing <= 0 and REQUIRED not in declared:
        return function  # type: ignore[no-any-return]
    given = (None,) * max(missing, 0) + tuple(None if default is REQUIRED else default for default in declared)
    padding = given[-(most - count) :]
    return lambda *values: function(*values, *padding)


def is_constructor(code_name: str) -> bool:
    """Whether a code name is that of a type or variant constructor."""
    return code_name.startswith(("type:", "variant:"))


def constructor_name(code_name: str) -> str:
    """``Point`` of ``type:Point@3:1#2``: its line and column, and how many fields it has."""
    return code_name[code_name.index(":") + 1 : code_name.index("@")]


def call_loose(function: Any, value: Any) -> Any:
    """Calls a bare pipe step with the value alone, without checking the number of arguments."""
    return callback(function, 1)(value)


def call_with(function: Any, arguments: dict[str, Any]) -> Any:
    """Calls a function with the arguments of a map, by the names of its parameters.

    A parameter of a task that the map omits takes its default, or else ``nothing``: a model that chooses the arguments omits
    those for which it has no value. Raises ``RuntimeFault`` located at the call.
    """
    if type(function) is FunctionType and getattr(function, "builtin", None) is None:
        code = function.__code__
        if not is_constructor(code.co_name):
            required = code.co_varnames[: code.co_argcount - len(function.__defaults__ or ())]
            arguments = {**arguments, **{name: None for name in map(source_name, required) if name not in arguments}}
    return call_named(function, list(arguments.values()), list(arguments))


def missing_or_misspelt(missing: RuntimeFault, name: str, params: Sequence[str]) -> RuntimeFault:
    """The error of a call that lacks an argument and gives one with an unknown name. If that name resembles a parameter, the
    error is about the misspelt name instead of the missing argument.
    """
    from language.hints import did_you_mean

    near = did_you_mean(name, params)
    if near:
        return RuntimeFault(f"unknown parameter '{name}'", kind="name", code="E0206", help=f"did you mean `{near}`?")
    missing.help = f"it has no parameter '{name}', only: {', '.join(params)}"
    return missing


def call_named(function: Any, values: Sequence[Any], names: Sequence[str | None]) -> Any:
    """Calls a function with named arguments. ``names`` gives the name of each value, or ``None`` for a positional one.

    Checks the number of arguments first, then binds them. Raises ``RuntimeFault`` located at the call.
    """
    kind = type(function)
    if kind is FunctionType:
        code = function.__code__
    elif kind is MethodType:
        code = function.__func__.__code__
    else:
        raise not_callable(function)
    declared = getattr(function, "builtin", None)
    if declared is not None:
        return _call_builtin(function, declared, values, names)
    if is_constructor(code.co_name):
        raise RuntimeFault(f"{constructor_name(code.co_name)} takes its values by position, without names", kind="type")
    params: tuple[str, ...] = code.co_varnames[: code.co_argcount]
    params = tuple(source_name(p) for p in params)
    defaults: tuple[Any, ...] = function.__defaults__ or ()
    fallbacks = dict(zip(params[len(params) - len(defaults) :], defaults))
    required = len(params) - len(defaults)
    positional = sum(1 for name in names if name is None)
    if positional > len(params):
        raise too_many(code.co_name, len(params), len(values), called_as(signature_of_function(function)))
    bound: dict[str, Any] = {}
    given = {name for name in names if name is not None}
    for index, param in enumerate(params[:required]):
        if index >= positional and param not in given:
            fault = missing_argument(code.co_name, param, called_as(signature_of_function(function)))
            unknown = next((name for name in names if name is not None and name not in params), None)
            raise fault if unknown is None else missing_or_misspelt(fault, unknown, params)
    seen_name = False
    position = 0
    for value, name in zip(values, names):
        if name is None:
            if seen_name:
                raise RuntimeFault("positional argument after named argument", kind="type", code="E0306")
            bound[params[position]] = value
            position += 1
            continue
        seen_name = True
        if name not in params:
            raise _unknown_argument(f"unknown parameter '{name}'", name, params)
        if name in bound:
            raise RuntimeFault(f"duplicate argument '{name}'", kind="type", code="E0306")
        bound[name] = value
    return function(*[bound[param] if param in bound else fallbacks[param] for param in params])


def _call_builtin(function: Any, builtin: Builtin, values: Sequence[Any], names: Sequence[str | None]) -> Any:
    most = builtin.most
    positional = [value for value, name in zip(values, names) if name is None]
    # Arguments that can only be given by name are not counted by the signature.
    counted = len(positional) if builtin.named else len(values)
    if most is not None and counted > most:
        raise too_many_for_builtin(builtin.name, most, len(values))
    keywords: dict[str, Any] = {}
    for value, name in zip(values, names):
        if name is None:
            if keywords:
                raise RuntimeFault("positional argument after named argument", kind="type", code="E0306")
            continue
        if not builtin.named:
            raise RuntimeFault(
                f"{builtin.name}() does not accept named arguments (got {name} = …); pass it by position",
                kind="type",
                code="E0206",
            )
        if name not in builtin.named:
            takes = ", ".join(builtin.named)
            text = f"{builtin.name}() has no argument named '{name}' (named arguments it takes: {takes})"
            raise _unknown_argument(text, name, builtin.named)
        if name in keywords:
            raise RuntimeFault(f"duplicate argument '{name}'", kind="type", code="E0306")
        keywords[name] = value
    if len(positional) < builtin.required:
        raise too_few_for_builtin(builtin, len(positional))
    plain = [p.rstrip("?") for p in builtin.params]
    for name in keywords:
        if name in plain and plain.index(name) < len(positional):
            raise RuntimeFault(f"duplicate argument '{name}'", kind="type", code="E0306")
    return function(*positional, **keywords)


def _unknown_argument(message: str, name: str, params: Sequence[str]) -> RuntimeFault:
    fault = RuntimeFault(message, kind="name", code="E0206")
    fault.sought, fault.known = name, params
    return fault


def source_name(python_name: str) -> str:
    """The name as the program writes it: a renamed variable has a suffix after ``·`` in the compiled code."""
    return python_name.partition("·")[0]


def plural(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"


def task_label(code_name: str) -> str:
    return "this lambda" if code_name == "<lambda>" else f"task '{source_name(code_name)}'"


def too_many(code_name: str, most: int, got: int, help: str = "") -> RuntimeFault:
    return RuntimeFault(f"{task_label(code_name)} takes {plural(most)}, got {got}", kind="type", code="E0302", help=help)


def missing_argument(code_name: str, param: str, help: str = "") -> RuntimeFault:
    param = source_name(param)
    # The parameters of a lambda have no defaults.
    other = "" if code_name == "<lambda>" else f", or give the parameter a default in the task: {param} = …"
    return RuntimeFault(
        f"{task_label(code_name)} is missing argument '{param}' — pass it{other}",
        kind="type",
        code="E0302",
        help=help,
    )


def too_many_for_builtin(name: str, most: int, got: int) -> RuntimeFault:
    from language import library
    from language.hints import too_many_hint

    builtin = library().all_builtins().get(name)
    told = "" if builtin is None else called_as(builtin.signature)
    message = f"{name}() takes at most {plural(most)}, got {got}{too_many_hint(name)}"
    return RuntimeFault(message, kind="type", code="E0302", help=told)


def too_few_for_builtin(builtin: Builtin, got: int) -> RuntimeFault:
    message = f"{builtin.name}() needs {plural(builtin.required)}, got {got}" if builtin.too_few is None else builtin.too_few
    return RuntimeFault(message, kind="type", code="E0302", help=called_as(builtin.signature))


# ---- signatures -------------------------------------------------------------------------------------------------------------


def called_as(signature: str) -> str:
    """The help for a call with a wrong number of arguments."""
    if signature.startswith("("):
        return f"its parameters are `{signature}`"
    mark = "?" if "?" in signature else "=" if " = " in signature else ""
    return f"it is called as `{signature}`" + (f": what has a `{mark}` may be left out" if mark else "")


def signature_of(code_name: str, params: Sequence[str], required: Container[str]) -> str:
    """The form of a call of a task, ``area(width, height = …)``; for a lambda only its parameters."""
    name = "" if code_name == "<lambda>" else source_name(code_name)
    return f"{name}({', '.join(param if param in required else f'{param} = …' for param in params)})"


def signature_of_function(function: FunctionType) -> str:
    """:func:`signature_of` for a compiled task."""
    code = function.__code__
    params = [source_name(name) for name in code.co_varnames[: code.co_argcount]]
    defaults: tuple[Any, ...] = function.__defaults__ or ()
    first = len(params) - len(defaults)
    required = [param for index, param in enumerate(params) if index < first or defaults[index - first] is REQUIRED]
    return signature_of(code.co_name, params, required)
