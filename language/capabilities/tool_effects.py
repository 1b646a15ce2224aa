"""The possible effects of a tool, derived from its capabilities: it reads text from outside, reads private data, acts
outside.
"""

from __future__ import annotations

from language.capabilities import canonical_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: Capabilities for reading text that somebody else wrote.
OUTSIDE_TEXT = frozenset({"net", "exec", "stdin"})
#: Capabilities for reading data that is not public.
PRIVATE_DATA = frozenset({"file", "file.read", "db", "memory", "env", "secret", "reveal", "exec"})
#: Capabilities for effects outside of the program.
ACTS_OUTSIDE = frozenset({"net", "exec", "file", "file.write", "db", "serve", "sign", "wallet", "spend"})
#: Capabilities for reading text that may have come from outside: a folder of letters, a table of messages.
PERHAPS_OUTSIDE_TEXT = OUTSIDE_TEXT | {"file", "file.read", "db", "memory"}


class ToolEffects:
    """The possible effects of a tool or of a set of tools."""

    __slots__ = ("acts_outside", "may_bring_outside_text", "reads_outside_text", "reads_private_data")

    def __init__(self, capabilities: Iterable[str]) -> None:
        held = {canonical_name(name) for name in capabilities}
        self.reads_outside_text = bool(held & OUTSIDE_TEXT)
        self.reads_private_data = bool(held & PRIVATE_DATA)
        self.acts_outside = bool(held & ACTS_OUTSIDE)
        #: whether its result may contain text from outside, judged by its capabilities
        self.may_bring_outside_text = bool(held & PERHAPS_OUTSIDE_TEXT)
