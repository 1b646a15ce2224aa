"""No way out of a secret: every builtin and every statement sees the name and never the plaintext.

The test is one of non-interference: everything runs twice, with secrets that differ in nothing but the plaintext (its letters,
its length, its place in an order), and all that can be observed must be equal: result, error, output, warnings, audit, state.
That finds what a search for the plaintext misses: its length, its hash, its encoding, its order. The builtins come from the
registry, so a new one is tested without a line here.
"""

from __future__ import annotations

import copy
import itertools
import pickle
import random
import traceback
from types import FunctionType, MethodType

import pytest

import language
from language.errors import LanguageError, Uncatchable
from language.host import EmbeddedHost
from language.registry import Builtin
from language.runtime.context import Context
from language.values import FALSE, TRUE, Bool, Secret, type_of
from language.values.display import display
from stdlib import all_builtins
from stdlib.encryption import hkdf_sha256

# The same name, nothing else in common: one sorts first, is longer, is not ASCII, holds digits and JSON, is a path and a URL.
PLAINTEXTS = ("zq9-hunter2", '/aé🔑 {"n": 12345} https://user:pw@host.test/?q=1 correct horse battery staple')
NAME = "K"

#: The positions that get the plaintext (5.4 of the manual). ``bearer`` and ``as_secret`` are not among them: what they answer
#: is sealed itself.
OPENED = {
    "hmac": {"data", "key"},
    "hmac_sha256": {"data", "key"},
    "verify_hmac": {"data", "signature", "key"},
    "constant_time_eq": {"a", "b"},
    "password_hash": {"pw"},
    "password_verify": {"pw"},
    "jwt_sign": {"key"},
    "jwt_verify": {"key"},
    "totp": {"key"},
    "totp_verify": {"key"},
    "reveal": {"s"},
    "aes_gcm_encrypt": {"key", "data"},
    "aes_gcm_decrypt": {"key"},
    "ed25519_pubkey": {"private"},
    "ed25519_sign": {"private"},
    "ecdh_public": {"private"},
}
#: Of those, the results that hold the plaintext itself.
REVEALS = {"reveal"}

CAPABILITIES = (
    "net", "file", "exec", "env", "time", "random", "stdin", "llm", "db", "secret", "reveal", "sign", "memory", "sandbox_run",
)  # fmt: skip
BUILTINS = {name: builtin for name, builtin in all_builtins().items() if not builtin.alias_of or builtin.alias_of not in OPENED}
MOST_CALLS = 80


class Recorder(EmbeddedHost):
    """A host that keeps all it is told, with a fixed clock and the same random bytes in every run."""

    def __init__(self):
        super().__init__({})
        self.told = []
        self._random = random.Random(1)

    def write_line(self, line):
        self.told.append(("out", line))

    def write_error_line(self, line):
        self.told.append(("err", line))

    def write_prompt(self, text):
        self.told.append(("prompt", text))

    def now(self):
        return 1_700_000_000.25

    def sleep(self, seconds):
        self.told.append(("sleep", seconds))

    def random_bytes(self, count):
        return self._random.randbytes(count)

    def append_audit_line(self, log, line):
        self.told.append((log, line))


def context():
    ctx = Context(Recorder(), collect=True)
    for name in CAPABILITIES:
        ctx.capabilities.require(name, None)
    return ctx


def seen(value):
    """What a program can see of a value, and what a host that prints it sees."""
    if isinstance(value, (FunctionType, MethodType)):
        return "task", display(value)
    if type(value) is Secret:
        return "secret", display(value), repr(value), value.names
    if type(value) is list:
        return "list", [seen(item) for item in value], display(value), repr(value)
    if type(value) is dict:
        return "map", [(key, seen(item)) for key, item in value.items()], display(value), repr(value)
    if isinstance(value, (int, float, str, bytes, Bool)) or value is None:
        return type_of(value), repr(value), display(value)
    return type_of(value), display(value)


def observe(builtin: Builtin, arguments):
    ctx = context()
    try:
        result = builtin.function(*([ctx] if builtin.context else []), *arguments)
        outcome = ("value", seen(result))
    except LanguageError as error:
        outcome = ("error", error.message, str(error), repr(error), "".join(traceback.format_exception(error)[-1:]))
    except Uncatchable as error:
        outcome = (type(error).__name__, str(error), repr(error))
    except (TypeError, RecursionError) as error:
        # What the language turns into its own errors: their text is made of the names of types.
        outcome = (type(error).__name__, str(error))
    return {
        "outcome": outcome,
        "lines": ctx.collected,
        "host": ctx.host.told,
        "records": ctx.capabilities.records,
        "state": repr(ctx.state) if not ctx.state else sorted(ctx.state),
    }


def shapes(plaintext):
    """A secret alone and in every kind of container."""
    sealed = Secret(plaintext, (NAME,))
    return {
        "alone": sealed,
        "in a list": [sealed, "x", 2],
        "among secrets": [sealed, Secret("m", ("M",))],
        "in a map": {"k": sealed, "a": 1},
        "in rows": [{"k": sealed, "a": 1}, {"k": "m", "a": 2}],
        "deep": {"a": [{"b": [sealed]}]},
    }


def fillers():
    """What the other arguments are: one of each kind, callbacks that pass on what they get among them."""
    return [
        "k",
        "m",
        2,
        0.5,
        -1,
        b"\x01\x02",
        None,
        TRUE,
        ["a", "b"],
        [2, 1],
        {"a": 1, "k": "m"},
        [{"k": "m", "a": 1}],
        pass_on,
        pick_first,
        compare,
        combine,
        "{k} m",
        "(m+)",
        Secret("m", ("M",)),
    ]


def pass_on(*values):
    return values[-1] if values else None


def pick_first(*values):
    return values[0] if values else None


def compare(*values):
    return TRUE if len(values) > 1 and values[0] == values[1] else FALSE


def combine(*values):
    return "".join(display(value) for value in values)


def arities(builtin: Builtin):
    most = builtin.most if builtin.most is not None else builtin.required + 2
    return range(max(builtin.required, 1), min(most, 5) + 1)


def positions(builtin: Builtin):
    """Each number of arguments with each place for the secret, and that place's name."""
    names = [param.rstrip("?.") for param in builtin.params]
    for count in arities(builtin):
        for place in range(count):
            yield count, place, names[min(place, len(names) - 1)]


def calls(builtin: Builtin, count, place):
    """Arguments around the secret: all combinations of the fillers, or a fixed choice of them where they are many."""
    chosen = random.Random(f"{builtin.name} {count} {place}")
    others = fillers()
    if len(others) ** (count - 1) <= MOST_CALLS:
        yield from itertools.product(others, repeat=count - 1)
    else:
        for _ in range(MOST_CALLS):
            yield tuple(chosen.choice(others) for _ in range(count - 1))


def leaks(observed, plaintext):
    """Whether the plaintext stands in what was observed as it is."""
    return plaintext in repr(observed) or plaintext.encode().hex() in repr(observed)


@pytest.mark.parametrize("name", sorted(BUILTINS))
def test_a_builtin_does_not_know_the_plaintext(name):
    builtin = BUILTINS[name]
    # A hash of a password is slow by design; these need no combinations, their other arguments are few.
    few = name in ("password_hash", "password_verify")
    for count, place, param in positions(builtin):
        opened = param in OPENED.get(name, ())
        for around in itertools.islice(calls(builtin, count, place), 3 if few else None):
            for shape in shapes(""):
                told = []
                for plaintext in PLAINTEXTS:
                    arguments = [*around[:place], shapes(plaintext)[shape], *around[place:]]
                    observed = observe(builtin, arguments)
                    told.append(observed)
                    if not (name in REVEALS and observed["outcome"][0] == "value"):
                        assert not leaks(observed, plaintext), (arguments, observed)
                if not (opened and shape == "alone"):
                    assert told[0] == told[1], (count, place, shape, around)


def test_the_list_of_those_that_open_a_secret_is_that_of_the_manual():
    """Each of them gives another answer for another plaintext: a name that does not belong here would hide a leak."""
    arguments = {
        "hmac": lambda s: ["m", s],
        "hmac_sha256": lambda s: ["m", s],
        "verify_hmac": lambda s: ["m", "00", s],
        "constant_time_eq": lambda s: [s, PLAINTEXTS[0]],
        "password_hash": lambda s: [s],
        "password_verify": lambda s: [s, "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQx$2Mf4lw"],
        "jwt_sign": lambda s: [{"iat": 1}, s],
        "jwt_verify": lambda s: ["t", s, {"at": 1}],
        "totp": lambda s: [s, {"at": 1}],
        "totp_verify": lambda s: [s, "123456", {"at": 1}],
        "reveal": lambda s: [s],
        "aes_gcm_encrypt": lambda s: [hkdf_sha256(s, None, None, 32), bytes(12), "m"],
        "aes_gcm_decrypt": lambda s: [hkdf_sha256(s, None, None, 32), bytes(12), bytes(40), None, "m"],
        "ed25519_pubkey": lambda s: [hkdf_sha256(s, None, None, 32)],
        "ed25519_sign": lambda s: [hkdf_sha256(s, None, None, 32), "m"],
        "ecdh_public": lambda s: [hkdf_sha256(s, None, None, 32)],
    }
    assert set(arguments) == set(OPENED)
    same = set()
    for name, make in arguments.items():
        builtin = all_builtins()[name]
        assert OPENED[name] <= {param.rstrip("?.") for param in builtin.params}
        outcomes = [observe(builtin, make(Secret(plaintext, (NAME,))))["outcome"] for plaintext in PLAINTEXTS]
        assert {outcome[0] for outcome in outcomes} == {"value"}, name
        if outcomes[0] == outcomes[1]:
            same.add(name)
    # A wrong key, whatever it is, is answered alike.
    assert same == {"verify_hmac", "password_verify", "jwt_verify", "totp_verify", "aes_gcm_decrypt"}


# ---- the language itself ------------------------------------------------------------------------------------------------

# `k` is the secret, `t` a text, `f` a task of one parameter.
STATEMENTS = [
    "print(k)",
    "print(k, [k], {'k': k})",
    "eprint(k)",
    "show k",
    "show m as 'title'",
    "print(show k as 'title')",
    "log k",
    "log {'a': [k]}",
    'log "x" + k',
    "print(`t{k}`, `{k}`, `{[k]}`, `{ {'a': k} }`)",
    "print(text(k), text([k]), type_of(k), type_of(`a{k}`))",
    "print('a' + k, k + 'a', k + k, k + 5, 5 + k, k + nothing, k + [1], {'a': k})",
    "raise k",
    "raise 'x' + k",
    "raise m",
    "assert(k == 'x')",
    "assert(not k)",
    "assert(false, k)",
    "assert_ne(k, k)",
    "assert_error(() => k)",
    "assert_error(() => k.a, k)",
    "assert_eq(k, 'x')",
    "assert_eq([k], ['x'])",
    "assert_eq({'a': k}, k)",
    "print({k: 1})",
    "print({'a': 1}[k])",
    "print([1, 2][k])",
    "print('abc'[k])",
    "set m[k] to 1",
    "set xs[k] to 1",
    "print(k[0])",
    "print(k['plaintext'])",
    "print(k.plaintext)",
    "print(k.names)",
    "print(plaintext of k)",
    "print(length(k))",
    "each c in k\n    print(c)",
    "each c in [k]\n    print(c)",
    "print(k - 1)",
    "print(k * 2)",
    "print(-k)",
    "print(k / 1)",
    "print(k // 1)",
    "print(k % 1)",
    "print(k ** 2)",
    "print(k < 'x')",
    "print('x' >= k)",
    "print(k > k)",
    "print(k == 'x', k != 'x', k == k, k == 5, k == bytes('x'), [k] == ['x'], {'a': k} == {'a': 'x'})",
    "print('x' in k)",
    "print(k in 'secret(K)')",
    "print(k in ['x'], k in [k], k in {'a': 1})",
    "print(when k then 'full' otherwise 'empty', not k, k and 1, k or 1)",
    "print(k(1))",
    "print(f(k))",
    "print(f(k, k))",
    "print(k |> f)",
    "exit(k)",
    "print(range(k))",
    "each i in range(k)\n    print(i)",
    "print(slice([1, 2, 3], k))",
    "match k\n    is 'x'\n        print('x')\n    otherwise\n        print('other')",
    "match m\n    is {k: v}\n        print(v)\n    otherwise\n        print('other')",
    "match [k]\n    is [v]\n        print(v)",
    "match 'x'\n    is 'y'\n        print(1)\n    otherwise\n        give k",
    "while k == 'x'\n    stop",
    "print(sort([k, 'a']))",
    "print(sort([k, k]))",
    "print(sort_by([{'k': k}, {'k': 'b'}], (r) => r.k))",
    "print(group_by([{'k': k}], (r) => r.k))",
    "print(unique([k, 'secret(K)', k]))",
    "print(max([k, 'a']))",
    "print(matches(k, '.'), split(k, ''), upper(k), replace(k, 'e', 'x'), trim(k), slice(text(k), 0, 3))",
    "print(fmt('{k}', {'k': k}), fmt(k, {}), join([k, 'a'], k), join(['a', k], '-'))",
    "print(json_encode([k, {'a': k}]), json_for_script({'k': k}))",
    "print(csv_encode([{'a': k}]), toml_encode({'a': k}))",
    "print(int(k, 10))",
    "print(number(k))",
    "print(bytes(k))",
    "print(decode(k))",
    "print(sha256(k))",
    "print(keys(k))",
    "state_set('a', k)\nprint(state_get('a'), state_get('a') == 'x')",
    "state_set(k, 1)\nprint(state_all())",
    "print(parallel_map((x) => [x, type_of(x), hmac(x, 'a')], [k, [k], m]))",
    "print(parallel_map((x) => [k, type_of(k), hmac('a', k)], [1]))",
    "print(parallel_map((x) => [m, type_of(m.k), hmac('a', m.k)], [1]))",
    "task g(x, d = k)\n    give [x, d, type_of(d), hmac('a', d)]\nprint(parallel_map(g, [1, 2]))",
    "let fs be []\neach s in [k]\n    set fs to append(fs, (x) => hmac('a', s))\nprint(parallel_map(fs[0], [1]))",
    "print(parallel_map((h) => h(1), [(x) => hmac('a', k)]))",
    "task g()\n    let own be secret('K')\n    give () => hmac('a', own)\nprint(parallel_map((h) => h(), [g()]))",
    "let h be as_secret('x', 'X') + k\nprint(parallel_map((x) => [h, hmac('a', h)], [1]))",
    "print(parallel_map(k, [1]), parallel_map(f, k))",
    "task g(x)\n    raise x\nprint(parallel_map(g, [k]))",
    "task g(x)\n    raise k\nprint(parallel_map(g, [k]))",
    "task g(x)\n    print(x, k)\n    log k\n    give x.a\nprint(parallel_map(g, [m, k]))",
    "print(apply([k], (x) => x), where([k], (x) => x), reduce([k, 'a'], (a, b) => a + b))",
    "try\n    raise k\nrecover e\n    print(e, type_of(e))",
    "let v be sandbox k\nprint(v, type_of(v))",
    "print(approve k)",
    "print(confirm k)",
    "print(ask k)",
    "print(ask 'q' with [k, 'b'])",
    "print(approve `send {k} with {m}?` within 5s)",
    "reveal(k)",
    "env(k)",
    "secret(k)",
    "print(as_secret('x', k))",
    "print(as_secret(k, 'other'))",
    "print(bearer(k), bearer(k) == 'x')",
    "type Point\n    x: number\nprint(Point(k))",
    "enum Shape\n    round(r)\n    none\nprint(Shape.round(k))",
    "let undefined_thing be k.a.b",
    "undefined_task(k)",
    "print(call_tool(f, k))",
    "print(call_tool(f, {'x': k}))",
    "invariant: k == 'x'",
    "invariant `{k}`: false",
    "test 'a'\n    assert_eq(k, 'x')",
    "test 'b'\n    raise k",
    "print(password_verify(k, k))",
    "print(password_verify('x', k))",
    "print(jwt_verify(k, 'key', {'at': 1}))",
    "print(jwt_sign({'s': k, 'iat': 1}, 'key'))",
    "print(jwt_sign(k, 'key'))",
    "print(totp_verify('key', k, {'at': 1}))",
    "print(totp('key', {'algo': k}))",
    "require random\nprint(token(k))",
]

PREAMBLE = """\
require secret("K")
let k be secret("K")
let t be "text"
let m be {"k": k, "a": 1}
let xs be [1, 2]
task f(x)
    give x
"""


def answers(statement, plaintext):
    """Everything that comes out of a program, as an embedder sees it."""
    logged = []

    def human(*question):
        logged.append(question)

    source = PREAMBLE + statement.replace("'", '"') + "\n"
    program = language.Program(source, env={"K": plaintext}, host={"log": logged.append, "human": human})
    told = []
    for run in (program.check, program.run, program.test):
        answer = run()
        for record in answer.get("audit", ()):
            record.pop("ts")
        told.append(answer)
    return told, logged


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_does_not_know_the_plaintext(statement):
    answers(statement, "x")  # Some notices come once a process: not in one of the two runs below.
    told = [answers(statement, plaintext) for plaintext in PLAINTEXTS]
    assert told[0] == told[1]
    for observed, plaintext in zip(told, PLAINTEXTS):
        assert plaintext not in repr(observed)


def test_the_statements_are_programs():
    """A list of parse errors would tell nothing. What only fails when it runs, runs."""
    checked = {statement: answers(statement, "x")[0][0]["errors"] for statement in STATEMENTS}
    faults = {statement: [error for error in errors if error[:7] != "Runtime"] for statement, errors in checked.items()}
    assert {statement: errors for statement, errors in faults.items() if errors} == {}


# ---- what a host sees ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plaintext", ["hunter2", b"hunter2"])
def test_dumps_of_a_host(plaintext):
    sealed = Secret(plaintext, (NAME,))
    assert repr(sealed) == str(sealed) == format(sealed) == f"{sealed}" == f"{sealed!r}" == "secret(K)"
    assert repr([sealed]) == "[secret(K)]"
    assert "%s %r" % (sealed, sealed) == "secret(K) secret(K)"  # noqa: UP031
    assert not hasattr(sealed, "__dict__")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises((TypeError, pickle.PicklingError)):
            pickle.dumps(sealed, protocol)
    for other in (copy.copy(sealed), copy.deepcopy([sealed])[0]):
        assert other is sealed
    with pytest.raises(TypeError):
        hash(sealed)
    with pytest.raises(TypeError):
        iter(sealed)
    with pytest.raises(TypeError):
        len(sealed)
    with pytest.raises(TypeError, match="JSON serializable"):
        __import__("json").dumps({"k": sealed})


def test_a_traceback_with_its_variables():
    sealed = Secret("hunter2", (NAME,))
    try:
        sealed < sealed  # noqa: B015
    except TypeError as error:
        shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    assert "secret(K)" in shown
    assert "hunter2" not in shown.replace('Secret("hunter2"', "")
