r"""Regular expressions: the syntax, the engines behind it, the builtins."""

from __future__ import annotations

import re
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.values import FALSE, TRUE, Bool
from stdlib import char_sets, regex_automaton, unicode_scripts, unicode_tables
from stdlib.regex import family
from stdlib.regex_automaton import Automaton
from stdlib.regex_backtracking import CHEAP_STEPS, MOST_STEPS, Backtracker, alphabet_of
from stdlib.regex_engine import Pattern, compiled
from stdlib.regex_syntax import PatternError, parse


def run(name, *values):
    return family.builtins[name].function(*values)


def bad(pattern):
    with pytest.raises(RuntimeFault) as caught:
        run("matches", "a", pattern)
    return caught.value.message


class Backtracking:
    """Python's engine alone, whatever the pattern costs."""

    native = None

    def __init__(self, tree):
        self._tree = tree

    def matches(self, text, groups):
        return Backtracker(self._tree, alphabet_of(text)).matches(text, groups)

    def fits(self, text):
        return Backtracker(self._tree, alphabet_of(text)).fits(text)


ENGINES = (Automaton, Backtracking)

#: Another one's engine, to compare with; it is not to be had on every version of Python.
HAS_RE2 = find_spec("re2") is not None
needs_re2 = pytest.mark.skipif(not HAS_RE2, reason="google-re2 has no wheel for this version of Python")
if HAS_RE2:
    from tests.stdlib.re2_oracle import Re2Engine

    ENGINES += (Re2Engine,)


def found(engine, text, groups):
    """Every match as the spans of its whole and its groups."""
    return list(engine.matches(text, groups))


class Only(Pattern):
    """A pattern on one engine."""

    __slots__ = ("_chosen",)

    def __init__(self, engine, source):
        super().__init__(parse(source))
        self._chosen = engine(self._tree)

    def _engine(self, text, whole=False):
        return self._chosen


# --- patterns for properties ------------------------------------------------------------------------------------------------

ATOMS = (
    "a", "b", "é", "ñ", "k", "_", "-", " ", "x", "w", "😀", ".", "[ab]", "[^a]", "[^é]", "[x+w-]", r"\w", r"\W", r"\d", r"\s",
    r"\S", r"[^\W\d]", r"\n", r"\b", r"\B", "^", "$", "(?m:^)", "(?m:$)", r"\A", r"\z", "(?s:.)", "(?i:É)", "(?i:k)",
    "(?i:[a-k])", "",
)  # fmt: skip
REPEATS = ("*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{,2}", "{0,2}?", "{2,}")


def grown(inner):
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        inner.map(lambda body: f"({body})"),
        st.tuples(inner, st.sampled_from(REPEATS)).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    )


patterns = st.recursive(st.sampled_from(ATOMS), grown, max_leaves=8)
texts = st.text(st.sampled_from("aabbéñkK\u212a x+w-_1\n😀"), max_size=10)


@needs_re2
@settings(max_examples=1000)
@given(patterns, texts, st.booleans())
def test_re2_and_the_automata_agree(source, text, groups):
    tree = parse(source)
    re2, automaton = Re2Engine(tree), Automaton(tree)
    assert found(automaton, text, groups) == found(re2, text, groups)
    assert automaton.fits(text) == re2.fits(text)


@needs_re2
@settings(max_examples=300)
@given(patterns, texts)
def test_re2_and_the_chosen_engine_agree(source, text):
    re2 = Only(Re2Engine, source)
    for pattern in (compiled(source), Only(Automaton, source)):
        assert pattern.find_all(text) == re2.find_all(text)
        assert pattern.capture(text) == re2.capture(text)
        assert pattern.first(text) == re2.first(text)
        assert pattern.fits(text) == re2.fits(text)
        for template in (r"<\1\g<0>\2>", "\\", "x"):
            assert pattern.replace(text, template) == re2.replace(text, template)


@settings(max_examples=400)
@given(patterns, texts, st.booleans())
def test_where_pythons_engine_is_allowed_it_agrees(source, text, groups):
    tree = parse(source)
    backtracker, automaton = Backtracker(tree, alphabet_of(text)), Automaton(tree)
    if backtracker.is_cheap(text, whole=False) or backtracker.is_cheap_on(text, whole=False):
        assert found(backtracker, text, groups) == found(automaton, text, groups)
        if backtracker.native is not None:
            assert [[match.span()] for match in backtracker.native.finditer(text)] == found(automaton, text, False)
    if backtracker.is_cheap(text, whole=True) or backtracker.is_cheap_on(text, whole=True):
        assert backtracker.fits(text) == automaton.fits(text)


@settings(max_examples=200)
@given(patterns, st.lists(texts, min_size=1, max_size=4), st.integers(1, 60))
def test_automata_that_keep_almost_nothing_answer_the_same(source, parts, most):
    tree = parse(source)
    whole = [found(Automaton(tree), text, True) for text in parts]
    kept = regex_automaton._MOST_KEPT
    regex_automaton._MOST_KEPT = most
    try:
        forgetful = Automaton(tree)
        assert [found(forgetful, text, True) for text in parts] == whole
    finally:
        regex_automaton._MOST_KEPT = kept


def test_threads_that_share_a_pattern_do_not_disturb_each_other():
    text = "".join(chr(97 + number * number % 7) for number in range(300))
    automaton = Automaton(parse(r"(a|b.)*?(c|d)(?:e|f)?\b|(?:[a-g]{2}c)+"))
    expected = found(Automaton(parse(r"(a|b.)*?(c|d)(?:e|f)?\b|(?:[a-g]{2}c)+")), text, True)
    kept = regex_automaton._MOST_KEPT
    regex_automaton._MOST_KEPT = 100
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(answer == expected for answer in pool.map(lambda _: found(automaton, text, True), range(40)))
    finally:
        regex_automaton._MOST_KEPT = kept


# What Python reads the same way. Its \w lacks marks and has superscripts, its $ allows a last line end: neither is here.
shared = st.recursive(
    st.sampled_from(("a", "b", "é", ".", "[ab]", "[^a]", r"\w", r"\W", r"\d", r"\s", r"\b", "^", "(?i:É)", "(?s:.)", "[a-]")),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        inner.map(lambda body: f"({body})"),
        st.tuples(st.sampled_from(("a", "é", ".", "[ab]", r"\w", "(?:a|é)")), st.sampled_from(REPEATS)).map("".join),
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(shared, st.text(st.sampled_from("abéÉ 1_\n"), max_size=8))
def test_the_syntax_is_read_as_python_reads_it(source, text):
    expected = re.search(source, text)
    assert compiled(source).first(text) == (None if expected is None else expected.span())
    assert compiled(source).fits(text) == (re.fullmatch(source, text) is not None)


@given(patterns, texts, st.text(st.sampled_from("z\\1g<0>$"), max_size=6))
@settings(max_examples=200, deadline=None)
def test_replacing_by_the_match_itself_changes_nothing(source, text, template):
    assert run("regex_replace", text, source, r"\g<0>") == text
    # A template has the same meaning at every match: what is between the matches stays.
    pieces = run("regex_find_all", text, source)
    assert len(run("regex_replace", text, source, "")) == len(text) - sum(map(len, pieces))
    if not pieces:
        assert run("regex_replace", text, source, template) == text


# --- sets of characters -----------------------------------------------------------------------------------------------------


def known():
    """The characters of the edition of Unicode that the tables are of; what later ones brought has no script in them."""
    return char_sets.merged(ranges for script in unicode_scripts.SCRIPTS for ranges in char_sets.property_set(script))


def assigned():
    """What both the tables and the Python that runs know."""
    codes = (code for low, high in known() for code in range(low, high + 1))
    return (chr(code) for code in codes if unicodedata.category(chr(code)) not in ("Cn", "Cs"))


def test_words_and_digits_are_those_of_the_unicode_data():
    word, digit = char_sets.word(), char_sets.digit()
    for character in assigned():
        category = unicodedata.category(character)
        is_word = category[0] in "LM" or category in ("Nd", "Nl", "Pc") or character in "\u200c\u200d"
        assert char_sets.has(word, ord(character)) == is_word, hex(ord(character))
        assert char_sets.has(digit, ord(character)) == (category == "Nd"), hex(ord(character))


@pytest.mark.parametrize("name", ["L", "Lu", "Mn", "N", "Nd", "P", "Sc", "Z", "Cc", "Co", "Cn"])
def test_categories(name):
    members = char_sets.property_set(name)
    for code in [*range(0x3000), *range(0xD7F0, 0x10FFFF + 1, 97)]:
        assert char_sets.has(members, code) == unicodedata.category(chr(code)).startswith(name), hex(code)


def test_scripts_and_long_names():
    assert run("regex_find_all", "abc αβγ де", r"\p{Greek}+") == ["αβγ"]
    assert run("regex_find_all", "abc αβγ де", r"[\p{Cyrillic}a]+") == ["a", "де"]
    assert run("regex_find_all", "aB1", r"\p{Uppercase_Letter}") == run("regex_find_all", "aB1", r"\p{Lu}") == ["B"]
    assert run("regex_find_all", "aé1", r"\P{L}|\p{^Ll}|\pN") == ["1"]


@needs_re2
def test_letters_that_differ_in_case_only_are_those_of_re2():
    import re2

    cased = "".join(c for c in assigned() if ord(c) < 0x1E944 and c.lower() != c.upper())
    for character in {*cased[::9], *"kKsSßẞσςΣµμıİiIθϴ", *"".join(unicode_tables.FOLDS)}:
        code = ord(character)
        expected = set(re2.findall("(?i)" + re2.escape(character), cased))
        assert {chr(c) for low, high in char_sets.folded(((code, code),)) for c in range(low, high + 1)} == expected, hex(code)


@needs_re2
@pytest.mark.parametrize("name", ["Greek", "Han", "Common", "Inherited", "Old_Italic", "Yi"])
def test_scripts_are_those_of_re2(name):
    import re2

    ours = char_sets.property_set(name)
    everything = "".join(chr(code) for code in (*range(0xD800), *range(0xE000, 0x18000)))
    theirs = {ord(character) for match in re2.findall(rf"\p{{{name}}}+", everything) for character in match}
    of_the_edition = known()
    assert {code for low, high in ours for code in range(low, high + 1) if code < 0x18000} == {
        code for code in theirs if char_sets.has(of_the_edition, code)
    }


def test_every_character_has_one_script():
    every = sorted(ranges for name in unicode_scripts.SCRIPTS for ranges in char_sets.property_set(name))
    assert all(low[1] < high[0] for low, high in pairwise(every))
    assert sum(high - low + 1 for low, high in every) == 149_813 + 65  # the characters of Unicode 15.1, and controls


ranges = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 20)), max_size=8).map(
    lambda pairs: char_sets.merged((low, low + length) for low, length in pairs)
)


@given(ranges, ranges)
def test_the_algebra_of_sets(left, right):
    def members(chosen):
        return {code for code in range(400) if char_sets.has(chosen, code)}

    assert members(char_sets.merged([*left, *right])) == members(left) | members(right)
    assert members(char_sets.common(left, right)) == members(left) & members(right)
    assert members(char_sets.negated(left)) == set(range(400)) - members(left)
    assert char_sets.negated(char_sets.negated(left)) == left
    for low, high in pairwise(left):
        assert low[1] + 1 < high[0]


# --- the syntax -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        (r"[]a]+", "a]b", ["a]"]),
        (r"[^]a]", "a]b", ["b"]),
        (r"[a\-c]+", "a-cb", ["a-c"]),
        (r"[a-c-e]+", "a-ebd", ["a-eb"]),
        (r"[[:alpha:][:^digit:]]", "1é", ["é"]),
        (r"[\d.]+", "1.2.x", ["1.2."]),
        (r"[\b]", "a\bb", ["\b"]),
        (r"[[a]", "[a", ["[", "a"]),
        (r"a{2}", "aaaaa", ["aa", "aa"]),
        (r"a{,2}b", "aaab", ["aab"]),
        (r"{a}{1,x}{}a{", "{a}{1,x}{}a{", ["{a}{1,x}{}a{"]),
        (r"a{2,}?", "aaaaa", ["aa", "aa"]),
        (r"\x41\x{e9}\u00e9\U0001F600\0\07", "Aéé😀\0\7", ["Aéé😀\0\7"]),
        (r"\.\*\_\é\ ", ".*_é ", [".*_é "]),
        (r"(?x) a b # comment" "\n c [ ] {2}", "abc  ", ["abc  "]),
        (r"(?i)straße|K", "STRASSE straẞe K\u212ak", ["straẞe", "K", "\u212a", "k"]),
        (r"(?i:a)b", "Ab AB", ["Ab"]),
        (r"a(?i)b|c", "aB C", ["aB", "C"]),
        (r"(a(?i)b)c", "aBc aBC", ["aBc"]),
        (r"(?is-m:A.)", "a\n", ["a\n"]),
        (r"(?i-i:A)", "aA", ["A"]),
        (r"(?m)^.$", "a\nb\n", ["a", "b"]),
        (r"^.|.$", "a\nb\n", ["a"]),
        (r"a$", "a\n", []),
        (r"(?m)^", "a\nb\n", ["", "", ""]),
        (r"a|ab", "ab", ["a"]),
        (r"(?:a|ab)$", "ab", ["ab"]),
        (r"\bé\w*", "été, é", ["été", "é"]),
        (r"\b\B", "ab", []),
        (r"\B", "", [""]),
        (r"\w+", "हिन्दी x²", ["हिन्दी", "x"]),
        (r"\s+", "a \u00a0\u3000b\x1cc", [" \u00a0\u3000"]),
        (r"\d+", "12٣४", ["12٣४"]),
        (r"[0-9]+", "12٣४", ["12"]),
        (r"", "ab", ["", "", ""]),
        (r"a*?", "aa", ["", "", ""]),
        (r"(?:(?:))*x", "x", ["x"]),
        (r"(a*)*b", "aab", ["aab"]),
        (r"\pLx", "éx", ["éx"]),
        (r"[^\x00-\x{10ffff}]|a", "a", ["a"]),
        (r"(?:é|[^é]){3}", "éaé", ["éaé"]),
    ],
)
def test_matches_of_the_syntax(engine, source, text, expected):
    assert Only(engine, source).find_all(text) == expected


@pytest.mark.parametrize(
    ("pattern", "detail"),
    [
        ("(", "missing ) for the group at position 0"),
        ("a)", "unmatched ) at position 1"),
        ("[a", "missing ] for the class at position 0"),
        ("[]", "missing ] for the class at position 0"),
        ("[z-a]", "bad character range z-a"),
        (r"[a-\d]", r"bad character range a-\d"),
        ("[[:foo:]]", "unknown class [:foo:]"),
        ("*a", "missing argument to repetition operator: *"),
        ("a|{2,3}", "missing argument to repetition operator: {2,3}"),
        ("a**", "bad repetition operator: **"),
        ("a++", "bad repetition operator: ++"),
        ("a{2}{3}", "bad repetition operator: {2}{3}"),
        ("a{3,2}", "invalid repetition size: {3,2}"),
        ("a{1001}", "invalid repetition size: {1001} (at most 1000)"),
        ("(?:a{100}){100}", "the pattern is too large: nested repeats of more than 1000"),
        (r"(?:\w{10}){100}", "the pattern is too large"),
        ("(?=a)", "look-around is not supported"),
        ("(?!a)", "look-around is not supported"),
        ("(?<=a)b", "look-around is not supported"),
        ("(?<!a)b", "look-around is not supported"),
        (r"(a)\1", "back-references are not supported"),
        ("(?P<n>a)(?P=n)", "back-references are not supported"),
        ("(?P<n>a)(?<n>b)", "two groups are named n"),
        ("(?<1>a)", "bad group name at position 0: a name is letters, digits and _, no digit first"),
        ("(?<n", "bad group name at position 0: a name is letters, digits and _, no digit first"),
        ("(?>a)", "unknown group (?> at position 0"),
        ("(?u)a", "unknown flag u in (?u: the flags are i, m, s and x"),
        ("(?-)a", "missing flag in (?-"),
        (r"\p{Nope}", r"unknown character property \p{Nope}"),
        (r"\p", r"unknown character property \p"),
        (r"\q", r"unknown escape \q"),
        (r"a\Z", r"unknown escape \Z: the end of the text is \z"),
        ("a\\", "trailing \\ at the end of the pattern"),
        (r"\x4", r"bad escape \x4"),
        (r"\x{110000}", r"bad escape \x{110000}"),
        ("(" * 300 + ")" * 300, "groups are nested more than 200 deep"),
    ],
)
def test_bad_patterns(pattern, detail):
    assert bad(pattern) == f"invalid regex pattern '{pattern}': {detail}"


def test_the_quotes_of_a_bad_pattern():
    assert bad("it's(").startswith('invalid regex pattern "it\'s(": ')
    assert bad('say "(').startswith("invalid regex pattern 'say \"(': ")
    assert bad("it's \"(").startswith("invalid regex pattern 'it's \"(': ")


@given(st.text(st.sampled_from(r"ab()[]{}|*+?.^$\-,:<>=!P1imsxdwp "), max_size=12), st.text("ab1\n é", max_size=6))
@settings(max_examples=500, deadline=None)
def test_any_text_is_a_pattern_or_a_bad_one(source, text):
    try:
        tree = parse(source)
    except PatternError:
        return
    automaton = Automaton(tree)
    for spans in found(automaton, text, True):
        assert all(-1 <= low <= high <= len(text) for low, high in spans)
    if HAS_RE2:
        assert found(automaton, text, True) == found(Re2Engine(tree), text, True)


def test_the_largest_patterns_compile():
    engine = Automaton(parse(r"\w{300}|\b\w{10}"))
    for text in ("a" * 300, "é" * 300, "é" * 299):
        assert engine.fits(text) == (len(text) == 300)


def test_ignoring_case_from_outside():
    assert compiled("été", ignore_case=True).first("un ÉTÉ") == (3, 6)
    assert compiled("été").first("un ÉTÉ") is None


# --- time -------------------------------------------------------------------------------------------------------------------

EXPLODING = (
    "(a+)+b",
    "(a|a)*b",
    "(a*)*b",
    "(a|aa)+$x",
    "([a-z]+)*1",
    ".*.*.*.*x",
    "(?:a?){50}a{50}x",
    "(?:.|\\b)*x",
    "a+é|a+b",
)


@pytest.mark.parametrize("made", (lambda source: Pattern(parse(source)), partial(Only, Automaton)), ids=["chosen", "automata"])
@pytest.mark.parametrize("source", EXPLODING)
@pytest.mark.parametrize("text", ["a" * 3000, "é" + "a" * 3000, "a" * 30], ids=["ascii", "wide", "short"])
def test_no_pattern_explodes(made, source, text):
    pattern = made(source)
    begun = time.process_time()
    assert not pattern.fits(text)
    assert pattern.find_all(text) == []
    assert time.process_time() - begun < 5


def test_the_bound_of_pythons_engine_holds():
    """Where it is called cheap it is, on the dearest text of the greatest length that still is."""
    for source in (r"\w+@", r"[a-z]+\d", "(?:a,?)*;", ".*=.*x", r'"(?:[^"\\]|\\.)*"'):
        backtracker = Backtracker(parse(source), alphabet_of("a"))
        longest = max(n for n in range(0, 10_000, 100) if backtracker.is_cheap_on("a" * n, whole=False))
        assert longest >= 100
        begun = time.process_time()
        assert list(backtracker.matches("a" * longest, False)) == []
        assert time.process_time() - begun < 3, (source, longest)
    assert CHEAP_STEPS < MOST_STEPS < 10**8


def test_the_bound_looks_at_the_text():
    assignment = Backtracker(parse(r"(\w+)\s*=\s*(\w+);"), alphabet_of("a"))
    assert assignment.is_cheap("key = value" * 20, whole=False)
    assert assignment.is_cheap_on("key = value\n" * 20_000, whole=False)
    assert not assignment.is_cheap("key = value\n" * 20_000, whole=False)
    assert not assignment.is_cheap_on("k" * 200_000, whole=False)
    nested = Backtracker(parse("(a+)+b"), alphabet_of("a"))
    assert nested.is_cheap_on("b" * 100_000, whole=False)
    assert not nested.is_cheap_on("a" * 40, whole=True)
    assert not nested.is_cheap("a" * 40, whole=True)


# --- the builtins -----------------------------------------------------------------------------------------------------------


def test_matches_is_about_the_whole_text():
    assert run("matches", "12345", "[0-9]+") is TRUE
    for text in ("a5", "5a", "5\n", ""):
        assert run("matches", text, "[0-9]+") is FALSE
    assert run("matches", "ab", "a|ab") is TRUE
    assert run("matches", 12, r"\d+") is TRUE
    assert run("matches", TRUE, "True") is TRUE


def test_find_all_gives_whole_matches():
    assert run("regex_find_all", "a1b22", "[0-9]+") == ["1", "22"]
    assert run("regex_find_all", "k=v x=y", r"(\w)=(\w)") == ["k=v", "x=y"]
    assert run("find_all", "abc", "[0-9]") == []
    # An empty match directly behind another does not count.
    assert run("regex_find_all", "baaac", "a*") == ["", "aaa", ""]


def test_capture():
    assert run("regex_capture", "k=v", "([a-z])=([a-z])") == ["k", "v"]
    assert run("regex_capture", "kv", "k.") == ["kv"]
    assert run("regex_capture", "abc", "[0-9]") is None
    assert run("regex_capture", "b", "(a)|(b)") == [None, "b"]
    assert run("regex_capture", "", "()") == [""]
    assert run("capture", "kv", "k.") == "kv"
    assert run("capture", "kv", "(k)(.)") == ["k", "v"]
    assert run("capture", "abc", "[0-9]") is None
    assert family.builtins["capture"].alias_of == "regex_capture"


@pytest.mark.parametrize(
    ("text", "pattern", "template", "expected"),
    [
        ("2026-09", "([0-9]+)-([0-9]+)", r"\2/\1", "09/2026"),
        ("abxd", "x*", "-", "-a-b-d-"),
        ("éxñ", "x*", "-", "-é-ñ-"),
        ("ab", "(?P<first>a)(?<second>b)", r"\g<second>\g<first>\g<0>\g<2>", "baabb"),
        ("ab", "(a)|(b)", r"[\1\2\3\g<nope>\g<9>]", "[a][b]"),
        ("a", "a", r"$1\\\q\g<\n\0", "$1\\\\q\\g<\\n\\0"),
        ("a", "a", "\\", "\\"),
        ("abcdefghijkl", "(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)", r"\12\1\123", "lal3"),
        ("a", "(a)", r"\19", ""),
        ("", "", "x", "x"),
        ("aé b", r"\b", "|", "|aé| |b|"),
        ("x", "y", r"\1", "x"),
    ],
)
def test_replace(text, pattern, template, expected):
    assert run("regex_replace", text, pattern, template) == expected
    for engine in ENGINES:
        assert Only(engine, pattern).replace(text, template) == expected


def test_places_are_counted_in_characters():
    for engine in ENGINES:
        assert Only(engine, r"\bb").first("é😀 b\nb") == (3, 4)
        assert Only(engine, "b").first("é😀 b") == (3, 4)
        assert Only(engine, "z").first("é😀 b") is None


@given(patterns, texts)
@settings(max_examples=50, deadline=None)
def test_no_python_boolean_leaves(source, text):
    assert run("matches", text, source).__class__ is Bool
