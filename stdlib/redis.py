"""Redis: one builtin for each command. Gate: ``db``, of the connection that ``db_open("redis://...")`` made."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import TRUE, Secret, as_map, to_bool, type_of
from language.values.display import display, number_text
from language.values.operators import is_decimal
from stdlib.options import whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context
    from language.values import Bool

family = Family("redis", "Redis")

#: Deletes a key only if it holds that token, atomically on the server.
_UNLOCK = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
_TOKEN_BYTES = 16


@family.builtin("redis_get(key)", capability="db", profile="native", context=True)
def redis_get(ctx: Context, key: Any) -> Any:
    """The value of a key, text if it is UTF-8, else bytes; `nothing` when there is none.

    Keys and values of all these builtins are text, bytes or numbers.
    """
    return _call(ctx, "redis_get", "GET", key)


@family.builtin("redis_set(key, value, ttl?)", capability="db", profile="native", context=True)
def redis_set(ctx: Context, key: Any, value: Any, ttl: Any = None) -> Bool:
    """Sets a key, for `ttl` seconds if given. Gives `true`."""
    more = () if ttl is None else ("EX", _whole("redis_set", "ttl", ttl))
    _call(ctx, "redis_set", "SET", key, value, *more)
    return TRUE


@family.builtin("redis_del(key)", capability="db", profile="native", context=True)
def redis_del(ctx: Context, key: Any) -> Any:
    """Deletes a key, or every key of a list, and gives the number of keys that existed."""
    return _call(ctx, "redis_del", "DEL", *(key if type(key) is list else [key]))


@family.builtin("redis_exists(key)", capability="db", profile="native", context=True)
def redis_exists(ctx: Context, key: Any) -> Bool:
    """Whether there is such a key."""
    return to_bool(_call(ctx, "redis_exists", "EXISTS", key))


@family.builtin("redis_mget(keys)", capability="db", profile="native", context=True)
def redis_mget(ctx: Context, keys: Any) -> Any:
    """The values of a list of keys, in order; `nothing` where there is none."""
    return _call(ctx, "redis_mget", "MGET", *_list("redis_mget", keys)) if keys != [] else []


@family.builtin("redis_mset(values)", capability="db", profile="native", context=True)
def redis_mset(ctx: Context, values: Any) -> Bool:
    """Sets every key of a map atomically. Gives `true`."""
    pairs = _pairs("redis_mset", values)
    if pairs:
        _call(ctx, "redis_mset", "MSET", *pairs)
    return TRUE


@family.builtin("redis_keys(pattern)", capability="db", profile="native", context=True)
def redis_keys(ctx: Context, pattern: Any) -> Any:
    """The keys that match a pattern (`*`, `?`, `[ab]`), sorted. The server searches all its keys."""
    return sorted(_call(ctx, "redis_keys", "KEYS", pattern), key=_as_octets)


@family.builtin("redis_type(key)", capability="db", profile="native", context=True)
def redis_type(ctx: Context, key: Any) -> Any:
    """The type of a key's value: `string`, `list`, `set`, `zset`, `hash`, `stream`, or `none`."""
    return _call(ctx, "redis_type", "TYPE", key)


@family.builtin("redis_incr(key)", capability="db", profile="native", context=True)
def redis_incr(ctx: Context, key: Any) -> Any:
    """Adds 1 to a key and gives the new value; a missing key counts as 0."""
    return _call(ctx, "redis_incr", "INCR", key)


@family.builtin("redis_decr(key)", capability="db", profile="native", context=True)
def redis_decr(ctx: Context, key: Any) -> Any:
    """Subtracts 1 from a key and gives the new value; a missing key counts as 0."""
    return _call(ctx, "redis_decr", "DECR", key)


@family.builtin("redis_incrby(key, amount)", capability="db", profile="native", context=True)
def redis_incrby(ctx: Context, key: Any, amount: Any) -> Any:
    """Adds an integer to a key and gives the new value; a missing key counts as 0."""
    return _call(ctx, "redis_incrby", "INCRBY", key, _whole("redis_incrby", "amount", amount))


@family.builtin("redis_expire(key, seconds)", capability="db", profile="native", context=True)
def redis_expire(ctx: Context, key: Any, seconds: Any) -> Bool:
    """Makes a key expire after `seconds`. Gives whether the key exists."""
    return to_bool(_call(ctx, "redis_expire", "EXPIRE", key, _whole("redis_expire", "seconds", seconds)))


@family.builtin("redis_ttl(key)", capability="db", profile="native", context=True)
def redis_ttl(ctx: Context, key: Any) -> Any:
    """The seconds until a key expires; -1 when it does not expire, -2 when there is no such key."""
    return _call(ctx, "redis_ttl", "TTL", key)


@family.builtin("redis_persist(key)", capability="db", profile="native", context=True)
def redis_persist(ctx: Context, key: Any) -> Bool:
    """Removes the expiry of a key. Gives whether it had one."""
    return to_bool(_call(ctx, "redis_persist", "PERSIST", key))


@family.builtin("redis_hget(key, field)", capability="db", profile="native", context=True)
def redis_hget(ctx: Context, key: Any, field: Any) -> Any:
    """The value of one field of a hash, or `nothing`."""
    return _call(ctx, "redis_hget", "HGET", key, field)


@family.builtin("redis_hset(key, fields)", capability="db", profile="native", context=True)
def redis_hset(ctx: Context, key: Any, fields: Any) -> Any:
    """Sets the fields of a hash from a map, and gives the number of new fields."""
    pairs = _pairs("redis_hset", fields)
    return _call(ctx, "redis_hset", "HSET", key, *pairs) if pairs else 0


@family.builtin("redis_hgetall(key)", capability="db", profile="native", context=True)
def redis_hgetall(ctx: Context, key: Any) -> Any:
    """All fields of a hash as a map; empty when there is no such key."""
    flat = _call(ctx, "redis_hgetall", "HGETALL", key)
    return {name if type(name) is str else display(name): value for name, value in zip(flat[::2], flat[1::2])}


@family.builtin("redis_hdel(key, field)", capability="db", profile="native", context=True)
def redis_hdel(ctx: Context, key: Any, field: Any) -> Any:
    """Deletes a field of a hash, or every field of a list, and gives the number of fields that existed."""
    return _call(ctx, "redis_hdel", "HDEL", key, *(field if type(field) is list else [field]))


@family.builtin("redis_hincrby(key, field, amount)", capability="db", profile="native", context=True)
def redis_hincrby(ctx: Context, key: Any, field: Any, amount: Any) -> Any:
    """Adds an integer to a field of a hash and gives the new value."""
    return _call(ctx, "redis_hincrby", "HINCRBY", key, field, _whole("redis_hincrby", "amount", amount))


@family.builtin("redis_lpush(key, value)", capability="db", profile="native", context=True)
def redis_lpush(ctx: Context, key: Any, value: Any) -> Any:
    """Prepends a value to a list, or those of a list one after the other. Gives its new length."""
    return _call(ctx, "redis_lpush", "LPUSH", key, *(value if type(value) is list else [value]))


@family.builtin("redis_rpush(key, value)", capability="db", profile="native", context=True)
def redis_rpush(ctx: Context, key: Any, value: Any) -> Any:
    """Appends a value, or those of a list, to the end of a list. Gives its new length."""
    return _call(ctx, "redis_rpush", "RPUSH", key, *(value if type(value) is list else [value]))


@family.builtin("redis_lpop(key)", capability="db", profile="native", context=True)
def redis_lpop(ctx: Context, key: Any) -> Any:
    """Removes the first value of a list and gives it; `nothing` when there is none."""
    return _call(ctx, "redis_lpop", "LPOP", key)


@family.builtin("redis_rpop(key)", capability="db", profile="native", context=True)
def redis_rpop(ctx: Context, key: Any) -> Any:
    """Removes the last value of a list and gives it; `nothing` when there is none."""
    return _call(ctx, "redis_rpop", "RPOP", key)


@family.builtin("redis_lrange(key, start, end)", capability="db", profile="native", context=True)
def redis_lrange(ctx: Context, key: Any, start: Any, end: Any) -> Any:
    """The values of a list from one position to another, both included; negative ones count from the end."""
    first, last = _whole("redis_lrange", "start", start), _whole("redis_lrange", "end", end)
    return _call(ctx, "redis_lrange", "LRANGE", key, first, last)


@family.builtin("redis_llen(key)", capability="db", profile="native", context=True)
def redis_llen(ctx: Context, key: Any) -> Any:
    """The length of a list; 0 when there is no such key."""
    return _call(ctx, "redis_llen", "LLEN", key)


@family.builtin("redis_sadd(key, member)", capability="db", profile="native", context=True)
def redis_sadd(ctx: Context, key: Any, member: Any) -> Any:
    """Adds a member, or those of a list, to a set, and gives the number of new members."""
    return _call(ctx, "redis_sadd", "SADD", key, *(member if type(member) is list else [member]))


@family.builtin("redis_srem(key, member)", capability="db", profile="native", context=True)
def redis_srem(ctx: Context, key: Any, member: Any) -> Any:
    """Removes a member, or those of a list, from a set, and gives the number of members that existed."""
    return _call(ctx, "redis_srem", "SREM", key, *(member if type(member) is list else [member]))


@family.builtin("redis_smembers(key)", capability="db", profile="native", context=True)
def redis_smembers(ctx: Context, key: Any) -> Any:
    """The members of a set, sorted."""
    return sorted(_call(ctx, "redis_smembers", "SMEMBERS", key), key=_as_octets)


@family.builtin("redis_sismember(key, member)", capability="db", profile="native", context=True)
def redis_sismember(ctx: Context, key: Any, member: Any) -> Bool:
    """Whether a set has that member."""
    return to_bool(_call(ctx, "redis_sismember", "SISMEMBER", key, member))


@family.builtin("redis_lock(key, ttl_ms?)", capability="db", profile="native", context=True)
def redis_lock(ctx: Context, key: Any, ttl_ms: Any = None) -> Any:
    """Acquires a lock for `ttl_ms` milliseconds (default 30000). Gives the token that releases it, or `nothing` when it is
    held.

    `let token be redis_lock("report")`
    """
    lasting = 30000 if ttl_ms is None else _whole("redis_lock", "ttl_ms", ttl_ms)
    token = ctx.host.random_bytes(_TOKEN_BYTES).hex()
    return None if _call(ctx, "redis_lock", "SET", key, token, "NX", "PX", lasting) is None else token


@family.builtin("redis_unlock(key, token)", capability="db", profile="native", context=True)
def redis_unlock(ctx: Context, key: Any, token: Any) -> Bool:
    """Releases a lock that was acquired with that token; false when it has expired or another token holds it."""
    return to_bool(_call(ctx, "redis_unlock", "EVAL", _UNLOCK, 1, key, token))


# ---- parts -------------------------------------------------------------------------------------------------------------


def _call(ctx: Context, builtin: str, *words: Any) -> Any:
    from stdlib.sql import connection_of

    connection = connection_of(ctx, builtin, "redis")
    sent = [_word(ctx, builtin, word) for word in words]
    return _reply(connection.call(ctx.lifetime, lambda engine: engine.command(sent)))


def _word(ctx: Context, builtin: str, value: Any) -> str | bytes:
    kind = type(value)
    if kind is Secret:
        from stdlib.sealing import unsealed

        return unsealed(ctx, value)
    if kind is str or kind is bytes:
        return value  # type: ignore[no-any-return]
    if kind is int or kind is float:
        return number_text(value)
    if is_decimal(value):
        return display(value)
    raise RuntimeFault(f"{builtin}: keys and values are text, bytes or numbers, got {type_of(value)}", kind="type")


def _reply(reply: Any) -> Any:
    if type(reply) is list:
        return [_reply(item) for item in reply]
    if type(reply) is bytes:
        try:
            return reply.decode("utf-8")
        except UnicodeDecodeError:
            return reply
    return reply


def _list(builtin: str, keys: Any) -> list[Any]:
    if type(keys) is not list:
        raise RuntimeFault(f"{builtin}: expected a list of keys, got {type_of(keys)}", kind="type")
    return keys


def _pairs(builtin: str, values: Any) -> list[Any]:
    entries = as_map(values)
    if entries is None:
        raise RuntimeFault(f"{builtin}: expected a map, got {type_of(values)}", kind="type")
    return [part for pair in entries.items() for part in pair]


def _whole(builtin: str, name: str, value: Any) -> int:
    number = whole(value)
    if number is None:
        raise RuntimeFault(f"{builtin}: {name} must be an integer, got {type_of(value)}", kind="type")
    return number


def _as_octets(item: str | bytes) -> bytes:
    return item.encode("utf-8") if isinstance(item, str) else item
