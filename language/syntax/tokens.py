"""The tokens: their types as messages name them, the hard keywords, and the words that are keywords only in their places."""

from __future__ import annotations

from typing import NamedTuple


class Token(NamedTuple):
    """One token of the source.

    ``type`` is the name that messages show (``IDENTIFIER``, ``WHEN``, ``LPAREN``). ``value`` is the text itself for words and
    numbers, the text with its escapes resolved for ``TEXT``, the inside as written for ``TEMPLATE``, the column count for
    ``INDENT`` and ``DEDENT``, empty for ``NEWLINE`` and ``EOF``. ``line``, ``col`` and the exclusive ``end_line``, ``end_col``
    are 1-based and count code points; ``start`` and ``end`` are offsets into the source.
    """

    type: str
    value: str
    line: int
    col: int
    end_line: int
    end_col: int
    start: int
    end: int


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words that cannot be the name of anything. The type of each is the word in upper case, except for three literals.
HARD_KEYWORDS = words(
    "when otherwise each while match is then and_then stop repeat in with "
    "task give let be set to as of type "
    "wait_for require allow deny sandbox verify "
    "reason intent invariant decide analyze generate "
    "try recover true false nothing and or not"
)
_LITERAL_WORDS = {"true": "BOOL_TRUE", "false": "BOOL_FALSE", "nothing": "NOTHING"}

#: Type of the token of every word that is not an ``IDENTIFIER``.
WORD_TYPES = {word: _LITERAL_WORDS.get(word, word.upper()) for word in HARD_KEYWORDS}
KEYWORD_TYPES = frozenset(WORD_TYPES.values())

OPERATOR_TYPES = {
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "//": "FLOORDIV",
    "%": "PERCENT",
    "**": "POWER",
    "==": "EQUAL",
    "!=": "NOT_EQUAL",
    "<": "LESS",
    ">": "GREATER",
    "<=": "LESS_EQUAL",
    ">=": "GREATER_EQUAL",
    "=": "ASSIGN",
    "->": "ARROW",
    "=>": "FAT_ARROW",
    "|>": "PIPE",
    "(": "LPAREN",
    ")": "RPAREN",
    "[": "LBRACKET",
    "]": "RBRACKET",
    "{": "LBRACE",
    "}": "RBRACE",
    ",": "COMMA",
    ".": "DOT",
    "...": "SPREAD",
    ":": "COLON",
}

#: How deep blocks, brackets, holes, prefix operators and words may nest, and what is said beyond.
MAX_DEPTH = 200
TOO_DEEP = f"nested too deeply: more than {MAX_DEPTH} blocks, brackets and prefix words in each other"

# ---- soft words --------------------------------------------------------------------------------------------------------

#: Constructs when they start a statement and no name use follows.
STATEMENT_WORDS = words("agent spawn share observe signal trace log measure checkpoint raise expect send serve")
#: Constructs where a primary expression may stand and no name use follows.
GATE_WORDS = words("approve confirm ask show")
#: Constructs directly after a finished value, of the construct that is open there.
INFIX_WORDS = words("between given for within timeout across")
#: What may follow ``export``.
EXPORTABLE = words("task type let enum routes")
#: Words that begin a clause of a ``serve`` block, a ``host`` block, a ``describe`` block.
SERVE_CLAUSES = words(
    "auth errors max_body max_streams rate_limit timeout static cors describe private docs "
    "mount host tls domain redirect bind trust route"
)
HOST_CLAUSES = words("auth route static tls")
DESCRIBE_CLAUSES = words("about api version")

#: Types of tokens that can be the first of an expression.
STARTS_EXPRESSION = words(
    "NUMBER TEXT TEMPLATE BOOL_TRUE BOOL_FALSE NOTHING IDENTIFIER LBRACKET LBRACE LPAREN "
    "MINUS NOT WHEN SANDBOX REASON DECIDE ANALYZE GENERATE"
)
#: Of these, the ones after which a soft word is a name all the same: a call, an index, a subtraction.
CONTINUES_NAME = words("LPAREN LBRACKET MINUS")
#: Types of tokens that can be the last of a value.
ENDS_VALUE = words("NUMBER TEXT TEMPLATE_END BOOL_TRUE BOOL_FALSE NOTHING IDENTIFIER RPAREN RBRACKET RBRACE")
