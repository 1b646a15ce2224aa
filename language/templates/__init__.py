"""Templates of pages: files with holes, compiled once and executed for each ``render``.

``holes`` cuts the text, ``parser`` makes the tree, ``translation`` turns it into a task of the language, which the language's
own compiler compiles; ``store`` finds the files and keeps what was compiled; ``rendering`` executes; ``validation`` looks at a
page without executing it. It lies in the core and not among the builtins because the compiler, the command ``check`` and the
start of a server use it too.
"""

from __future__ import annotations

from language.templates.validation import check_page, validate

__all__ = ["check_page", "validate"]
