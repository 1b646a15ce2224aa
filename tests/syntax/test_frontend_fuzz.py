"""Any text is a program or is refused with a place; a tree written is read back. ``LANG_FUZZ=1`` tries many more."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from source_of import expression, shape

from language.errors import LexerError, ParseError
from language.syntax import nodes
from language.syntax.lexer import decode_source, tokenize
from language.syntax.parser import parse
from language.syntax.tokens import HARD_KEYWORDS, OPERATOR_TYPES, SERVE_CLAUSES, STATEMENT_WORDS

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = 50_000 if os.environ.get("LANG_FUZZ") else 2500


def many(share: float = 1.0) -> settings:
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=int(EXAMPLES * share), deadline=None, suppress_health_check=quiet)


def taken(source: str) -> nodes.Program | None:
    """Parses whatever it is: a program, or a refusal that names a place in the text."""
    try:
        return parse(source, "fuzz.lang")
    except (LexerError, ParseError) as error:
        lines = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        assert error.file == "fuzz.lang"
        assert 1 <= error.line <= len(lines)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1
        assert error.message
        return None


def programs() -> list[str]:
    texts = []
    for path in (*sorted(ROOT.glob("conformance/*/*.lang")), *sorted(ROOT.glob("examples/**/*.lang"))):
        try:
            text = decode_source(path.read_bytes())
        except UnicodeDecodeError:
            continue
        texts += [text] if len(text) < 2000 else [text[:1500], text[-1500:]]
    return texts


PROGRAMS = programs()
WORDS = sorted(HARD_KEYWORDS | STATEMENT_WORDS | SERVE_CLAUSES)
WORDS += [
    "x",
    "y",
    "_",
    "if",
    "def",
    "body",
    "on",
    "at",
    "from",
    "per",
    "minute",
    "none",
    "within",
    "between",
    "given",
    "for",
    "use",
]
LITERALS = ["1", "1.5", "2d", "0x1f", '"t"', "'s'", "`a`", "`{x}`", "`{", "}`", '""', "90s", '"GET /x"', "1_", '"', "`"]
BREAKS = ["\n", "\n    ", "\n        ", "\n\t", "\n  ", " -- note\n", "\n-- note\n", " "]
BITS = st.sampled_from([*WORDS, *OPERATOR_TYPES, *LITERALS, *BREAKS, "//", "--", "+=", "@", "é"])


@many()
@given(st.text(max_size=80))
def test_any_text(source: str) -> None:
    taken(source)


@many(0.5)
@given(st.text(alphabet="ab1_.-`{}()[]\"'\\\n\t :,u=>|*é\u0301\r", max_size=60))
def test_any_text_of_our_characters(source: str) -> None:
    taken(source)


@many()
@given(st.lists(BITS, max_size=40))
def test_any_words(bits: list[str]) -> None:
    taken(" ".join(bits))


@st.composite
def changed_programs(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(PROGRAMS))
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 15)))
        match draw(st.integers(0, 4)):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = f"{text[:start]} {draw(BITS)} {text[start:]}"
            case 2:
                text = text[:end] + text[start:end] * 2 + text[end:]
            case 3:
                text = text[:start] + draw(st.sampled_from("()[]{}`\"'\n\t -.,:=<>|@\\é😀_")) + text[start:]
            case _:
                other = draw(st.sampled_from(PROGRAMS))
                text = text[:start] + other[start : end + 40] + text[end:]
    return text


@many()
@given(changed_programs())
def test_changed_programs(source: str) -> None:
    program = taken(source)
    if program is not None:
        assert shape(parse(source.rstrip() + "\n", "again")) == shape(program)


@many(0.5)
@given(st.sampled_from(PROGRAMS), st.integers(0, 2000))
def test_programs_cut_off(source: str, length: int) -> None:
    taken(source[:length])


# ---- trees written and read back ---------------------------------------------------------------------------------------

SPAN = (0, 0, 0, 0)
AT = (0, 0)
NAMES = st.sampled_from(["a", "b2", "_c", "ñ", "log", "route", "_"])
LEAVES = st.one_of(
    st.integers(0, 10**30).map(lambda n: nodes.Number(SPAN, n)),
    st.floats(0, allow_nan=False).map(lambda n: nodes.Number(SPAN, n)),
    st.from_regex(r"\A[0-9]{1,9}(\.[0-9]{1,9})?\Z").map(lambda t: nodes.Decimal(SPAN, t)),
    st.text(st.characters(codec="utf-8"), max_size=8).map(lambda t: nodes.Text(SPAN, t)),
    st.booleans().map(lambda b: nodes.Bool(SPAN, b)),
    st.just(nodes.Nothing(SPAN)),
    NAMES.map(lambda n: nodes.Name(SPAN, n)),
)


def _links(operators: list[str], inside: st.SearchStrategy[nodes.Expr]) -> st.SearchStrategy[tuple[nodes.Link, ...]]:
    link = st.builds(lambda op, operand: nodes.Link(op, AT, operand), st.sampled_from(operators), inside)
    return st.lists(link, min_size=1, max_size=3).map(tuple)


def _trees(inside: st.SearchStrategy[nodes.Expr]) -> st.SearchStrategy[nodes.Expr]:
    some = st.lists(inside, max_size=3).map(tuple)
    two_or_more = st.lists(inside, min_size=2, max_size=4).map(tuple)
    args = st.lists(st.builds(lambda n, v: nodes.Arg(n, v, AT), st.none() | NAMES, inside), max_size=3).map(tuple)
    arms = st.lists(st.tuples(inside, inside), min_size=1, max_size=3).map(tuple)
    purpose = st.none() | st.text("ab\n", max_size=3)
    named = st.one_of(st.just((None, None)), st.tuples(NAMES, inside))
    within = st.none() | st.builds(lambda n, u: nodes.Within(n, u), st.integers(1, 99), st.sampled_from("smh"))
    return st.one_of(
        some.map(lambda items: nodes.ListLit(SPAN, items)),
        st.lists(st.tuples(inside, inside), max_size=3).map(lambda entries: nodes.MapLit(SPAN, tuple(entries))),
        st.builds(lambda p, b: nodes.Lambda(SPAN, tuple(p), b), st.lists(NAMES, max_size=3, unique=True), inside),
        st.builds(lambda f, links: nodes.Arith(SPAN, f, links), inside, _links(["+", "-"], inside)),
        st.builds(lambda f, links: nodes.Arith(SPAN, f, links), inside, _links(["*", "/", "//", "%"], inside)),
        st.builds(
            lambda f, links: nodes.Compare(SPAN, f, links),
            inside,
            _links(["==", "!=", "<", ">", "<=", ">=", "in", "not in"], inside),
        ),
        st.builds(lambda b, e: nodes.Power(SPAN, b, e, AT), inside, inside),
        st.builds(lambda op, operands: nodes.BoolOp(SPAN, op, operands), st.sampled_from(["and", "or"]), two_or_more),
        inside.map(lambda operand: nodes.Not(SPAN, operand, AT)),
        inside.map(lambda operand: nodes.Negate(SPAN, operand, AT)),
        st.builds(lambda first, steps: nodes.Pipe(SPAN, first, steps, AT), inside, some.filter(bool)),
        st.builds(lambda func, args: nodes.Call(SPAN, func, args, AT), inside, args),
        st.builds(lambda obj, name: nodes.Field(SPAN, obj, name, AT), inside, NAMES | st.sampled_from(["when", "of", "in"])),
        st.builds(lambda obj, index: nodes.Index(SPAN, obj, index, AT), inside, inside),
        st.builds(lambda name, obj: nodes.Of(SPAN, name, obj, AT), NAMES, inside),
        st.builds(lambda arms, otherwise: nodes.WhenExpr(SPAN, arms, otherwise), arms, st.none() | inside),
        inside.map(lambda body: nodes.SandboxExpr(SPAN, body)),
        st.builds(lambda k, m, w: nodes.Gate(SPAN, k, m, None, w), st.sampled_from(["approve", "confirm"]), inside, within),
        st.builds(lambda m, o, w: nodes.Gate(SPAN, "ask", m, o, w), inside, st.none() | inside, within),
        st.builds(lambda topic, n: nodes.Reason(SPAN, topic, True, *n, None), inside, named),
        st.builds(lambda options, g: nodes.Decide(SPAN, options, g), inside, st.none() | inside),
        st.builds(lambda subject, purpose: nodes.Analyze(SPAN, subject, purpose), inside, purpose),
        st.builds(lambda what, g, n: nodes.Generate(SPAN, what, g, *n), st.text("ab", max_size=3), st.none() | inside, named),
    )


@many()
@given(st.recursive(LEAVES, _trees, max_leaves=14))
def test_a_tree_written_is_read_back(tree: nodes.Expr) -> None:
    written = expression(tree)
    # a soft word before `(`, `[` or `-` is a name: such an operand cannot be written, source_of adds a sum to it
    assume("nothing + " not in written or "Nothing" in repr(tree))
    (statement,) = parse(f"let it be {written}", "x").statements
    read = shape(statement.value)  # type: ignore[attr-defined]
    if "nothing + " not in written:
        assert read == shape(tree), written
    assert "COMMENT" not in [token.type for token in tokenize(written, "x", keep_comments=True)]
