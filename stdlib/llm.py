"""The language model: whether there is one, and what it has cost."""

from __future__ import annotations

from language.registry import Family
from language.values import to_bool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.runtime.context import Context
    from language.values import Bool

family = Family("llm", "Language model")


@family.builtin("llm_available()", context=True)
def llm_available(ctx: Context) -> Bool:
    """Whether a model answers `reason`, `decide`, `analyze` and `generate`; without one they give placeholders."""
    return to_bool(ctx.host.llm is not None)


@family.builtin("llm_usage()", context=True)
def llm_usage(ctx: Context) -> int:
    """The tokens, of questions and answers, that this process has used so far. `PLATFORM_LLM_BUDGET` bounds them."""
    return ctx.host.llm_usage.used
