"""The codes of mistakes. A code is a class of mistakes with one cure; its page is ``docs/errors/CODE.md``.

A code that was given never becomes another mistake. What raises an error names its code, or the kind of the error does
(``language/errors.py``, ``KIND_CODES``); no code is found from the text of a message.
"""

from __future__ import annotations

#: Code → title. E01 syntax and layout, E02 names and modules, E03 types and calls, E04 values, keys, arithmetic, E05
#: capabilities and secrets, E06 files, databases, network, processes, E07 services, gates, pages, E08 tests, assertions,
#: ``raise``, E09 limits, resources, what this build has not; W01 warnings of ``lang check``.
CODES: dict[str, str] = {
    # ---- E01: syntax and layout
    "E0101": "The text is no program",
    "E0102": "A character that the language does not have",
    "E0103": "A text or template without an end",
    "E0104": "A bracket that is never closed",
    "E0105": "A closing bracket that closes nothing",
    "E0106": "A line at the indentation of no block",
    "E0107": "Tabs and spaces mixed",
    "E0108": "A line that goes on with an ended statement",
    "E0109": "A block is missing",
    "E0110": "A block with braces or a colon",
    "E0111": "A statement of another language",
    "E0112": "An assignment with `=`",
    "E0113": "A value is missing",
    "E0114": "More after the end of a statement",
    "E0115": "A reserved word as a name",
    "E0116": "A name is missing",
    "E0117": "An operator of another language",
    "E0118": "A word of the statement is missing",
    "E0119": "A comment of another language",
    "E0120": "A number that is not well formed",
    "E0121": "An expression of another language",
    "E0122": "Typographic quotes and signs",
    "E0123": "A name that cannot be bound here",
    "E0124": "A wrong line in a `serve` block",
    "E0125": "A comma or colon is missing",
    "E0126": "A wrong length of time",
    "E0127": "A comment that hides code",
    "E0128": "An `export` that exports nothing",
    "E0129": "Nested too deeply",
    "E0130": "A part without its statement",
    # ---- E02: names and modules
    "E0201": "A name that nothing here defines",
    "E0202": "`set` of a variable that no `let` made",
    "E0203": "A module that cannot be found",
    "E0204": "A module does not export the name",
    "E0205": "Modules that use each other in a circle",
    "E0206": "An argument named as no parameter is",
    "E0207": "A `require` line that cannot hold",
    # ---- E03: types and calls
    "E0301": "A value of a type that the operation does not take",
    "E0302": "A wrong number of arguments",
    "E0303": "A call of what is no task",
    "E0304": "An operator between types that it does not join",
    "E0305": "A field of a value that has no fields",
    "E0306": "An argument given twice or out of order",
    # ---- E04: values, keys, arithmetic
    "E0401": "A map has no such key",
    "E0402": "An index outside of the list, text or bytes",
    "E0403": "A value that the operation cannot take",
    "E0404": "A calculation without a result",
    "E0405": "A division by zero",
    "E0406": "A text that is no number",
    "E0407": "A text that cannot be decoded",
    "E0408": "A wrong regular expression",
    # ---- E05: capabilities and secrets
    "E0501": "A capability that the program does not declare",
    "E0502": "A capability above the ceiling",
    "E0503": "An address that is reached by its own name alone",
    "E0504": "A secret or variable that has no value",
    "E0505": "A sealed secret used as a plain value",
    # ---- E06: files, databases, network, processes
    "E0601": "A file, folder or process that failed",
    "E0602": "A database refused or failed",
    "E0603": "Another machine failed or could not be reached",
    "E0604": "It took too long",
    "E0605": "A file or folder that is not there",
    # ---- E07: services, gates, pages
    "E0701": "A service started with `lang run`",
    "E0702": "A `serve` block that cannot be served",
    "E0703": "A port that is in use",
    "E0704": "A statement for requests outside of a request",
    "E0705": "A page that cannot be rendered",
    # ---- E08: tests, assertions, raise
    "E0801": "An assertion that does not hold",
    "E0802": "An error that the program raised",
    "E0803": "`give` or `stop` where there is nothing to leave",
    # ---- E09: limits, resources, what this build has not
    "E0901": "Too much at a time",
    "E0902": "Calls nested too deep",
    "E0903": "A limit that the host set",
    "E0904": "What this build or host has not",
    # ---- W01: warnings of `lang check`
    "W0101": "A variable that nothing reads",
    "W0102": "A task that nothing calls",
    "W0103": "A module that nothing uses",
    "W0104": "A `require` line that nothing needs",
    "W0105": "A capability that is used and not declared",
    "W0106": "A line that nothing reaches",
    "W0107": "A comparison of types that always has the same result",
    "W0108": "A route that never answers",
    "W0109": "A scope on a capability that has none",
    "W0110": "The name of a module that is also bound to something else",
    "W0111": "An old name of a builtin",
    "W0112": "A write into a copy that nothing reads",
    "W0113": "Tools that together can carry private data away",
    "W0114": "A path parameter written as in another framework",
    "W0115": "A value in braces in a text in quotes",
    "W0116": "A text among the nodes of a page",
    "W0117": "A value that nobody takes",
    "W0122": "A capability that a sandbox takes away",
}
