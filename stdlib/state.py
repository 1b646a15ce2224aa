"""Shared key-value state of a running program, with all its handlers, jobs and agents.

``ctx.state`` is a plain ``dict``, or the state that several worker processes of a server share (``language.shared.store``).
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.locks import Lock
from language.registry import Family
from language.values import TRUE, Secret, as_map, is_callable
from language.values.display import display
from language.values.operators import is_decimal, to_float
from stdlib.json_format import warn_of_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.runtime.context import Context
    from language.values import Bool

family = Family("state", "Shared state")

# Held for single reads and writes only, so one lock is enough for all programs of the process.
_lock = Lock()


#: Stored in place of a secret; the same text as in JSON.
REDACTED = "[redacted]"


def storable(ctx: Context, name: str, value: Any) -> Any:
    """A copy of the value for storing by the builtin ``name``: secrets redacted, with a warning. Raises ``RuntimeFault`` for a
    task in it.
    """
    return _stored(name, value, {}, warn_of_secret(ctx, name, "stored"))


def _stored(name: str, value: Any, copies: dict[int, Any], on_secret: Callable[[Secret], None]) -> Any:
    """The copy of a value. ``copies`` are those made so far, by ``id`` of the original: shared parts stay shared in the
    copy.
    """
    kind = value.__class__
    known = copies.get(id(value))
    if known is not None:
        return known
    if kind is list:
        copies[id(value)] = items = [_stored(name, item, copies, on_secret) for item in value]
        return items
    if kind is dict:
        copies[id(value)] = entries = {field: _stored(name, item, copies, on_secret) for field, item in value.items()}
        return entries
    fields = as_map(value)
    if fields is not None:
        return {field: _stored(name, item, copies, on_secret) for field, item in fields.items()}
    if kind is Secret:
        on_secret(value)
        return REDACTED
    if is_callable(value):
        raise RuntimeFault(f"{name}: a task cannot be stored")
    return value


def _key(builtin: str, key: Any) -> str:
    if key.__class__ is Secret:
        raise RuntimeFault(f"{builtin}: a secret cannot be a key: two of one name would be the same")
    return display(key)


@family.builtin("state_set(key, value?)", context=True, too_few="state_set: missing key")
def state_set(ctx: Context, key: Any, value: Any = None) -> Any:
    """Stores a copy of `value` under `key` (its display text: `1` and `"1"` are one key) and gives `value` back.

    The store is shared by all route handlers, jobs and agents of the running program and ends with it. A secret is stored as
    `"[redacted]"`, with a warning; a task cannot be stored.
    """
    name = _key("state_set", key)
    stored = storable(ctx, "state_set", value)
    state = ctx.state
    if state.__class__ is dict:
        with _lock:  # not while another thread is changing a value
            state[name] = stored
    else:
        state[name] = stored
    return value


@family.builtin("state_get(key, default?)", context=True, too_few="state_get: missing key")
def state_get(ctx: Context, key: Any, default: Any = None) -> Any:
    """A copy of the value stored under `key`, else `default`, else `nothing`."""
    return ctx.state.get(_key("state_get", key), default)


@family.builtin("state_incr(key, delta?)", context=True, too_few="state_incr: missing key")
def state_incr(ctx: Context, key: Any, delta: Any = None) -> int | float:
    """Adds `delta` (default 1) to the number under `key` atomically, and gives the new value.

    A stored value that is not a number counts as 0, a `delta` that is not a number as 1. Integers stay integers, otherwise the
    result is a float.
    """
    name = _key("state_incr", key)
    step = _number(delta, 1)
    state: Any = ctx.state
    if state.__class__ is not dict:
        total: int | float = state.change(name, lambda value: _sum(_number(value, 0), step))
        return total
    with _lock:
        total = state[name] = _sum(_number(state.get(name), 0), step)
    return total


def _sum(current: int | float, step: int | float) -> int | float:
    if current.__class__ is int and step.__class__ is int:
        return current + step
    return to_float(current) + to_float(step)


def _number(value: Any, otherwise: int) -> int | float:
    if value.__class__ is int or value.__class__ is float:
        return value
    return value.to_float() if is_decimal(value) else otherwise


@family.builtin("state_delete(key)", context=True, too_few="state_delete: missing key")
def state_delete(ctx: Context, key: Any) -> Bool:
    """Removes the value under `key`; always `true`, also when there was none."""
    state, name = ctx.state, _key("state_delete", key)
    if state.__class__ is dict:
        with _lock:
            state.pop(name, None)
    else:
        state.pop(name)
    return TRUE


@family.builtin("state_all()", context=True)
def state_all(ctx: Context) -> dict[str, Any]:
    """A map of everything stored, in the order of first storing."""
    return ctx.state.copy()
