"""What an agent remembers from run to run. Gate: ``memory``, of the name that ``require memory("name")`` declares."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.host.memory import CATEGORIES, DEFAULT_LIMIT, MAIN, found, summary
from language.registry import Family
from language.values import TRUE
from language.values.display import display, raw_text
from language.values.operators import is_decimal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.host.memory import MemoryStore
    from language.runtime.context import Context
    from language.values import Bool

family = Family("memory", "Memory")

_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@family.builtin("remember(category, content, tags?)", capability="memory", context=True)
def remember(ctx: Context, category: Any, content: Any, tags: Any = None) -> str:
    """Keeps `content` (as text) for later runs and gives the id of the entry.

    `category` is `preference`, `rule`, `learning`, `decision` or `context`; `tags` a list of texts. The program declares its
    memory by `require memory("name")`: the name is what the store is known by. A secret is kept redacted.

    `remember("preference", "answers in French", ["language"])`
    """
    store = _store(ctx)
    kind = raw_text(category)
    if kind not in CATEGORIES:
        raise RuntimeFault(f"Invalid memory category: '{kind}'. Valid categories: {', '.join(CATEGORIES)}")
    return store.add(kind, raw_text(content), _texts(tags) or [], MAIN, ctx.host.now())


@family.builtin(
    "recall(category?, tags?, search?, mode?, limit?, from?)",
    named=("category", "tags", "search", "mode", "limit", "from"),
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
    **named: Any,
) -> list[dict[str, Any]]:
    """The entries that pass every filter given, the newest first, as maps `{id, category, content, source, tags}`.

    `search` is a part of the content, in any case; of `tags` one must be there, with `mode` `"all"` every one. At most `limit`
    entries (200). `from` is the name of the agent that wrote them, `"main"` for what no agent wrote, `"*"` for all.

    `recall("preference", search = "french")`
    """
    store = _store(ctx)
    source = named.get("from", origin)
    wanted = None if source is None or source == "*" else display(source)
    entries = found(
        store.entries(),
        category=None if category is None else raw_text(category),
        tags=_texts(tags),
        every_tag=type(mode) is str and mode.lower() == "all",
        search=None if search is None else raw_text(search),
        source=wanted,
        limit=_limit(limit),
    )
    return [
        {"id": entry.id, "category": entry.category, "content": entry.content, "source": entry.source, "tags": entry.tags}
        for entry in entries
    ]


@family.builtin("forget_memory(id)", capability="memory", context=True)
def forget_memory(ctx: Context, id: Any) -> Bool:
    """Forgets an entry; true, also when there was none of that id."""
    _store(ctx).forget(raw_text(id), ctx.host.now())
    return TRUE


@family.builtin("memory_summary()", capability="memory", context=True)
def memory_summary(ctx: Context) -> str:
    """How many entries and rules the memory has, and the rules, as text."""
    return summary(_store(ctx))


# ---- parts -------------------------------------------------------------------------------------------------------------


def _store(ctx: Context) -> MemoryStore:
    """The declared memory of the program; the gate comes before anything else is looked at."""
    name = ctx.root.capabilities.declared_memory
    if name is None:
        raise ctx.capabilities.refuse(
            "memory",
            "Capability not granted: memory. Persistent agent state (remember/recall, rules, progress) requires a declared "
            "memory — the declared name identifies its store. Add: require "
            f'memory("{_stem(ctx.root.program)}") at the top of the program',
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


def _texts(tags: Any) -> list[str] | None:
    return [display(tag) for tag in tags] if type(tags) is list else None


def _limit(limit: Any) -> int:
    number = limit.to_float() if is_decimal(limit) else limit
    if type(number) not in (int, float) or not 0 <= number < float("inf"):
        return DEFAULT_LIMIT
    return int(number)
