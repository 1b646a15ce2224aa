"""Options that builtins take as a map, and numbers among them."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values import as_map, type_of
from language.values.operators import is_decimal, to_float

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context


def option_map(builtin: str, opts: Any, valid: tuple[str, ...]) -> dict[str, Any]:
    """The options as a map without those that are ``nothing``. Raises ``RuntimeFault`` for an unknown one."""
    if opts is None:
        return {}
    options = as_map(opts)
    if options is None:
        raise RuntimeFault(f"{builtin}: the options must be a map, got {type_of(opts)}", kind="type")
    for name in options:
        if name not in valid:
            raise RuntimeFault(f'{builtin}: unknown option "{name}" (valid options: {", ".join(valid)})')
    return {name: value for name, value in options.items() if value is not None}


def text_option(builtin: str, options: dict[str, Any], name: str) -> str | None:
    """An option that is a text; ``None`` when it is not given. Raises ``RuntimeFault`` for anything else."""
    value = options.get(name)
    if value is not None and type(value) is not str:
        raise RuntimeFault(f'{builtin}: option "{name}" must be text, got {type_of(value)}', kind="type")
    return value


def whole(value: Any) -> int | None:
    """An integer, or a float or decimal without a fraction; ``None`` for anything else."""
    if type(value) is int:
        return value
    if type(value) is float:
        return int(value) if value.is_integer() else None
    if is_decimal(value) and value.is_whole():
        return value.to_int()  # type: ignore[no-any-return]
    return None


def whole_option(
    builtin: str, options: dict[str, Any], name: str, default: int, least: int | None = None, most: int | None = None
) -> int:
    """An integer option within its bounds. Raises ``RuntimeFault`` that names the option."""
    if name not in options:
        return default
    number = whole(options[name])
    if number is None or (least is not None and number < least) or (most is not None and number > most):
        bounds = "" if least is None else f" from {least} to {most}" if most is not None else f" of at least {least}"
        raise RuntimeFault(f'{builtin}: option "{name}" must be an integer{bounds}{_got(options[name], number)}')
    return number


def whole_argument(builtin: str, name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """An argument that is an integer within its bounds. Raises ``RuntimeFault`` that names the builtin and the argument."""
    number = whole(value)
    if number is None or (least is not None and number < least) or (most is not None and number > most):
        bounds = "" if least is None else f" from {least} to {most}" if most is not None else f" of at least {least}"
        raise RuntimeFault(f"{builtin}: {name} must be an integer{bounds}{_got(value, number)}")
    return number


def timeout_of(builtin: str, timeout: Any, default: float) -> float:
    """The argument ``timeout`` of a builtin in seconds, ``default`` where it is ``nothing``. Raises ``RuntimeFault``."""
    if timeout is None:
        return default
    if type(timeout) is not int and type(timeout) is not float and not is_decimal(timeout):
        raise RuntimeFault(f"{builtin}: timeout must be a number of seconds, got {type_of(timeout)}", kind="type")
    seconds: float = timeout.to_float() if is_decimal(timeout) else to_float(timeout)
    if not 0 <= seconds < float("inf"):
        raise RuntimeFault(f"{builtin}: timeout must be a number of seconds from 0")
    return seconds


def moment(ctx: Context, builtin: str, options: dict[str, Any], most: int | None = None) -> int:
    """The Unix time in whole seconds: the option ``at``, else that of the clock, which needs the capability ``time``."""
    from math import floor, isfinite

    if "at" not in options:
        ctx.check("time", None)
        return floor(ctx.host.now())
    value = options["at"]
    number = value.to_float() if is_decimal(value) else value
    seconds: int | None = None
    if type(number) is int or (type(number) is float and isfinite(number)):
        seconds = floor(number)
    if seconds is None or seconds < 0 or (most is not None and seconds > most):
        raise RuntimeFault(f'{builtin}: option "at" must be Unix seconds, 0 or later{_got(value, seconds)}')
    return seconds


def _got(value: Any, number: int | None) -> str:
    if number is None or number.bit_length() > 256:
        return f", got {type_of(value)}" if type_of(value) != "number" else ""
    return f", got {number}"
