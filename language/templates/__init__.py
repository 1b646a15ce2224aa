"""Templates of pages: files with holes, compiled once and executed at each ``render``.

``holes`` splits the text, ``parser`` makes the tree, and ``translation`` turns it into a task of the language for the
language's own compiler. ``page_store`` finds the files and caches compiled pages, ``rendering`` executes them, ``validation``
checks a page without executing it. This package is part of ``language`` and not of ``stdlib``, because the command ``check``
and the start of a server use it too.
"""

from __future__ import annotations

from language.templates.validation import check_page, validate

__all__ = ["check_page", "validate"]
