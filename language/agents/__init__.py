"""Several agents in one program: parts of it that run at the same time, each on a copy of the program's variables.

They exchange values through the blackboard (``share``, ``observe``) and through signals (``signal``, ``wait_for``). Both
belong to the running program, with all its handlers and jobs.
"""

from __future__ import annotations

from language.agents.registry import Agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.runtime.context import Context


def agents_of(context: Context) -> Agents:
    """The agents of the running program, shared by all its contexts. The first call creates the object."""
    root = context.root
    return root.services.agents_of(lambda: Agents(root))
