"""The memory of an agent, which is kept between runs. Gate: ``memory``, of the name in ``require memory("name")``."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.host.memory import CATEGORIES, DEFAULT_LIMIT, MAIN, MOST_CONTENT, MemoryEntry, Query, summary
from language.registry import Family
from language.values import TRUE, Bool, type_of
from language.values.display import display, quote, raw_text
from language.values.operators import is_decimal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.host.memory import MemoryStore
    from language.runtime.context import Context

family = Family("memory", "Memory")

_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_OPTIONS = ("key", "ttl", "about")
_RANKED = 10


@family.builtin("remember(category, content, tags?, options?)", capability="memory", context=True)
def remember(ctx: Context, category: Any, content: Any, tags: Any = None, options: Any = None) -> str:
    """Stores `content` (as text, at most 1,048,576 characters) for later runs and gives the id of the entry.

    `category` is `preference`, `rule`, `learning`, `decision` or `context`; `tags` a list of texts. The program declares its
    memory by `require memory("name")`, which names the store. A secret is stored redacted.

    Options: `key`: the entry replaces the one with the same key and `about`; `ttl`: seconds after which it expires; `about`:
    the person or thing that it is about, a text or an integer. Such an entry is found only with the same `about`.

    `remember("preference", "answers in French", ["language"], {"about": "user-17", "key": "language"})`
    """
    store = declared_store(ctx)
    kind = raw_text(category)
    if kind not in CATEGORIES:
        raise RuntimeFault(f"Invalid memory category: '{kind}'. Valid categories: {', '.join(CATEGORIES)}")
    kept = raw_text(content)
    if len(kept) > MOST_CONTENT:
        raise RuntimeFault(f"remember: content is at most {MOST_CONTENT:,} characters, got {len(kept):,}: keep it in a file")
    now = ctx.host.now()
    entry = MemoryEntry("", kind, kept, _texts("remember", tags), _writer(ctx))
    _set_options(entry, options, now)
    return store.add(entry, now)


@family.builtin(
    "recall(category?, tags?, search?, mode?, limit?, from?, about?)",
    named=("category", "tags", "search", "mode", "limit", "from", "about"),
    capability="memory",
    context=True,
)
def recall(
    ctx: Context,
    category: Any = None,
    tags: Any = None,
    search: Any = None,
    mode: Any = None,
    limit: Any = None,
    origin: Any = None,
    about: Any = None,
    **named: Any,
) -> list[dict[str, Any]]:
    """The entries that match all filters, the newest first, as maps `{id, category, content, source, tags}`.

    `search` is a part of the content, regardless of case. An entry must have one of `tags`, a list, or with `mode` `"all"` all
    of them; an empty list does not filter. At most `limit` entries, a positive integer (200). An unknown `mode`, `limit` or
    kind of `tags` is an error. `from` is the name of the agent that wrote them, `"main"` for entries that no agent wrote, `"*"`
    for all; without it an agent gets its own entries. With `about` only entries about exactly that are found, without it only
    entries without `about`.

    `recall("preference", search = "french", about = "user-17")`
    """
    store = declared_store(ctx)
    source = named.get("from", origin)
    query = Query(
        category=None if category is None else raw_text(category),
        tags=_texts("recall", tags),
        every_tag=_every_tag(mode),
        search=None if search is None else raw_text(search),
        source=_wanted(ctx, source),
        about=_about("recall", about),
        limit=_limit("recall", limit, DEFAULT_LIMIT),
    )
    return _maps(store.search(query, ctx.host.now()))


@family.builtin("recall_ranked(query, limit?, about?)", named=("query", "limit", "about"), capability="memory", context=True)
def recall_ranked(ctx: Context, query: Any, limit: Any = None, about: Any = None) -> list[dict[str, Any]]:
    """The entries that contain words of `query`, the best first, as `recall` gives them; at most `limit` (10).

    An entry scores for each word that its text contains, also inside a longer word; rare words count more. `about` is as in
    `recall`.

    `recall_ranked("which coffee does she drink", 3, about = "user-17")`
    """
    from language.host.memory_ranking import words_of

    store = declared_store(ctx)
    whom = _about("recall_ranked", about)
    most = _limit("recall_ranked", limit, _RANKED)
    return _maps(store.ranked(words_of(raw_text(query)), whom, most, ctx.host.now()))


@family.builtin("forget_memory(id, erase?)", named=("id", "erase"), capability="memory", context=True)
def forget_memory(ctx: Context, id: Any, erase: Any = None) -> Bool:
    """Forgets an entry, or each one of a list of ids. Gives `true`, also for an unknown id.

    A forgotten entry is no longer found, but stays in the store. With `erase` true it is removed from the store completely.
    Erase many entries in one call with a list, because each call rewrites the full-text index.

    `forget_memory("mem_3", erase = true)`
    """
    store = declared_store(ctx)
    if erase is not None and type(erase) is not Bool:
        raise RuntimeFault(f"forget_memory: erase must be true or false, got {type_of(erase)}", kind="type")
    ids = [raw_text(each) for each in id] if type(id) is list else [raw_text(id)]
    store.forget(ids, erase is TRUE, ctx.host.now())
    return TRUE


@family.builtin("memory_summary()", capability="memory", context=True)
def memory_summary(ctx: Context) -> str:
    """The number of entries and rules of the memory, and the rules, as text.

    `print(memory_summary())`
    """
    return summary(declared_store(ctx), ctx.host.now())


def _writer(ctx: Context) -> str:
    """The source of new entries: the name of the agent, or ``main`` outside of agents."""
    return MAIN if ctx.agent is None else ctx.agent.name


def _wanted(ctx: Context, source: Any) -> str | None:
    """The source whose entries are wanted; ``None`` for all."""
    if source is None and ctx.agent is not None:
        return ctx.agent.name
    return None if source is None or source == "*" else display(source)


# ---- parts -------------------------------------------------------------------------------------------------------------


def declared_store(ctx: Context) -> MemoryStore:
    """The declared memory of the program. The capability is checked before anything else."""
    name = ctx.root.capabilities.declared_memory
    if name is None:
        cure = f'require memory("{_stem(ctx.root.program)}")'
        raise ctx.capabilities.refuse(
            "memory",
            "Capability not granted: memory. Persistent agent state (remember/recall, rules, progress) requires a declared "
            f"memory — the declared name identifies its store. Add: {cure} at the top of the program",
            cure,
        )
    ctx.check("memory", name)
    root = ctx.root
    return root.services.memory(name, lambda: root.host.memory(name, root.program))


def _stem(file: str) -> str:
    name = file.rpartition("/")[2].rpartition("\\")[2]
    stem = name.rpartition(".")[0] or name
    if not stem or stem.startswith("<") or stem == "-":
        return "my-agent"
    return "".join(character if character in _NAME_CHARACTERS else "-" for character in stem)


def _maps(entries: list[MemoryEntry]) -> list[dict[str, Any]]:
    return [
        {"id": entry.id, "category": entry.category, "content": entry.content, "source": entry.source, "tags": entry.tags}
        for entry in entries
    ]


def _set_options(entry: MemoryEntry, options: Any, now: float) -> None:
    if options is None:
        return
    if type(options) is not dict:
        raise RuntimeFault(f"remember: options must be a map, got {type_of(options)}", kind="type")
    for name, value in options.items():
        if name not in _OPTIONS:
            raise RuntimeFault(f"remember: unknown option {quote(name)}; valid options are: {', '.join(_OPTIONS)}")
        if value is None:
            # An `about` that is accidentally nothing must not make the entry visible without `about`.
            raise RuntimeFault(f"remember: the option {name} is nothing: leave it out, or give it a value", kind="type")
        if name == "key":
            entry.key = _name("remember", "key", value)
        elif name == "about":
            entry.about = _name("remember", "about", value)
        else:
            entry.expires = now + _seconds(value)


def _about(builtin: str, value: Any) -> str:
    return "" if value is None else _name(builtin, "about", value)


def _name(builtin: str, what: str, value: Any) -> str:
    """A text that is not empty, or an integer. Other values, such as secrets and tasks, have display texts that are not
    unique.
    """
    if type(value) is int or (type(value) is str and value):
        return str(value)
    got = "an empty text" if value == "" else type_of(value)
    raise RuntimeFault(f"{builtin}: {what} must be a text that is not empty or an integer, got {got}", kind="type")


def _seconds(value: Any) -> float:
    number = value.to_float() if is_decimal(value) else value
    if type(number) not in (int, float) or not 0 < number < float("inf"):
        raise RuntimeFault(f"remember: ttl must be a positive number of seconds, got {display(value)}")
    return float(min(number, 1e12))


def _texts(builtin: str, tags: Any) -> list[str]:
    if tags is None:
        return []
    if type(tags) is not list:
        hint = ": options come after the tags" if builtin == "remember" and type(tags) is dict else ""
        raise RuntimeFault(f"{builtin}: tags must be a list of texts, got {type_of(tags)}{hint}", kind="type")
    return [display(tag) for tag in tags]


def _every_tag(mode: Any) -> bool:
    """Whether an entry must have all tags."""
    if mode is None:
        return False
    word = mode.lower() if type(mode) is str else ""
    if word not in ("any", "all"):
        raise RuntimeFault(f'recall: mode must be "any" or "all", got {quote(mode) if type(mode) is str else type_of(mode)}')
    return word == "all"


def _limit(builtin: str, limit: Any, default: int) -> int:
    if limit is None:
        return default
    number = limit.to_float() if is_decimal(limit) else limit
    if type(number) not in (int, float) or not 1 <= number < float("inf") or number != int(number):
        raise RuntimeFault(f"{builtin}: limit must be a positive integer, got {display(limit)}")
    return int(number)
