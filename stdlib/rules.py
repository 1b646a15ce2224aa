"""The rules that the owner of an agent gives it, kept in its memory. Gate: ``memory``, as for ``remember``.

No builtin stops a program that violates a rule: the program itself calls ``check_rules`` and decides.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.host.memory import MOST_CONTENT, Rule
from language.registry import Family
from language.values import TRUE, type_of
from language.values.display import raw_text
from language.values.operators import is_decimal
from stdlib.memory import declared_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context
    from language.values import Bool

family = Family("rules", "Rules")

LEVELS = ("must", "should", "avoid", "prefer")


@family.builtin("add_rule(name, level, description, category?)", capability="memory", context=True)
def add_rule(ctx: Context, name: Any, level: Any, description: Any, category: Any = None) -> Bool:
    """Stores a rule, or replaces the one of the same name.

    `level` is `must`, `should`, `avoid` or `prefer`. A comparison in `description`, of a name and a number, is the condition
    that `check_rules` checks. A rule without one is never violated. A rule without a category belongs to all categories.

    `add_rule("cap", "must", "discount <= 0.20", "pricing")`
    """
    store = declared_store(ctx)
    label = raw_text(level)
    if label not in LEVELS:
        raise RuntimeFault(f"Invalid rule level: '{label}'. Valid levels: {', '.join(LEVELS)}")
    text = raw_text(description)
    if len(text) > MOST_CONTENT:
        raise RuntimeFault(f"add_rule: a description is at most {MOST_CONTENT:,} characters, got {len(text):,}")
    store.add_rule(Rule(raw_text(name), label, text, "" if category is None else raw_text(category)))
    return TRUE


@family.builtin("get_rules(category?)", named=("category",), capability="memory", context=True)
def get_rules(ctx: Context, category: Any = None) -> list[dict[str, Any]]:
    """The rules, as maps `{name, level, description, category}`, in the order in which they were added; with `category` only
    those of exactly that category.

    `get_rules("pricing")`
    """
    wanted = None if category is None else raw_text(category)
    return [
        {"name": rule.name, "level": rule.level, "description": rule.description, "category": rule.category}
        for rule in declared_store(ctx).rules()
        if wanted is None or rule.category == wanted
    ]


@family.builtin("check_rules(category?, values?)", named=("category", "values"), capability="memory", context=True)
def check_rules(ctx: Context, category: Any = None, values: Any = None) -> list[dict[str, Any]]:
    """The rules that the numbers of the map `values` violate, as maps `{rule, level, message}`.

    It checks the rules of that category and those without one; without `category` all rules. A rule about a number that
    `values` does not contain is not violated.

    `check_rules("pricing", {"discount": 0.25})`
    """
    store = declared_store(ctx)
    if values is not None and type(values) is not dict:
        raise RuntimeFault(f"check_rules: values must be a map, got {type_of(values)}", kind="type")
    wanted = None if category is None else raw_text(category)
    numbers = _numbers(values or {})
    violated = []
    for rule in store.rules():
        if wanted is not None and rule.category not in ("", wanted):
            continue
        if _is_violated(rule.description, numbers):
            from json import dumps

            context = dumps(numbers, sort_keys=True, ensure_ascii=False)
            message = f"[{rule.level.upper()}] Rule '{rule.name}' violated: {rule.description}. Context: {context}"
            violated.append({"rule": rule.name, "level": rule.level, "message": message})
    return violated


# ---- parts -------------------------------------------------------------------------------------------------------------


def _numbers(values: dict[Any, Any]) -> dict[str, float]:
    numbers = {}
    for name, value in values.items():
        number = value.to_float() if is_decimal(value) else value
        if type(number) is int or type(number) is float:
            try:
                numbers[str(name)] = float(number)
            except OverflowError:
                numbers[str(name)] = float("inf") if number > 0 else float("-inf")
    return numbers


def _is_violated(description: str, numbers: dict[str, float]) -> bool:
    condition = _condition(description)
    if condition is None:
        return False
    name, operator, text = condition
    value = numbers.get(name)
    try:
        bound = float(text)
    except ValueError:
        return False
    if value is None:
        return False
    if operator == "<=":
        return not value <= bound
    if operator == ">=":
        return not value >= bound
    if operator == "<":
        return not value < bound
    if operator == ">":
        return not value > bound
    return (value == bound) != (operator == "==")


def _condition(description: str) -> tuple[str, str, str] | None:
    """The first comparison of a name with a number: name, operator, number as written; ``None`` when there is none."""
    import re

    # Searches for the operator first, because a pattern that begins with the name takes quadratic time on a long text without
    # operators.
    for found in re.finditer(r"(<=|>=|==|!=|<|>)\s*([0-9.]+)", description):
        end = found.start()
        while end and description[end - 1].isspace():
            end -= 1
        begin = end
        while begin and (description[begin - 1].isalnum() or description[begin - 1] == "_"):
            begin -= 1
        if begin < end:
            return description[begin:end], found[1], found[2]
    return None
