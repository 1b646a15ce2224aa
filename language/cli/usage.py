"""What the tool says about itself: the usage line of a wrong call and the texts of ``--help``."""

from __future__ import annotations

LINES = {
    "": "usage: lang [--test] [--sandbox | --cap-set LIST] [--version] FILE|-  |  lang COMMAND ...  |  lang help",
    "run": "usage: lang run [flags] FILE|- [args...] [-- args...]",
    "serve": "usage: lang serve [flags] FILE [-- args...]",
    "test": "usage: lang test [flags] FILE|FOLDER|PATTERN...",
    "check": "usage: lang check [--format human|json] [--compile] FILE|-",
    "repl": "usage: lang repl [--sandbox | --cap-set LIST]",
    "fmt": "usage: lang fmt [--check] FILE|FOLDER|-...",
    "docs": "usage: lang docs [NAME...]",
    "caps": "usage: lang caps FILE [--audit LOG] [--json]  |  lang caps --diff OLD NEW [--json]",
    "audit": "usage: lang audit verify FILE...  |  lang audit [--project ID] [--granted | --denied] [-q TEXT] [--json]",
}

COMMON = """\
  --sandbox              ceiling: the program may print and read the clock, nothing else
  --cap-set LIST         ceiling: name or name=scope, separated by commas; 'none' covers nothing
  --env-file PATH        read the .env file there instead of ./.env
  --no-env-file          read no .env file
"""

AUDIT = """\
  --audit DEST           capability decisions as JSON lines: json (standard error), PATH, fd:N or unix:PATH
  --audit-chain          chain those lines, so that 'lang audit verify' finds a change among them
"""

LINK = """\
  --host-link PLACE      the runner that started this, a Unix socket or tcp://HOST:PORT: variables, connections, gates and the
                         listening socket come over it, the audit goes over it (docs/host-link.md)
  --package FOLDER       where a relative path is looked up that the program reads and the working folder does not have
"""

TEXTS = {
    "": """\
Commands:
  run      run a program
  serve    run a program and serve its routes over HTTP
  test     run the test blocks of programs
  check    parse and validate a program without running it
  fmt      rewrite programs in the canonical layout
  repl     read, evaluate and print, line by line
  docs     show what the builtins do
  caps     show what a program declares, or what another version declares more
  audit    check that no line of an audit was changed; show that of a deployed project
  new      make a folder with a program to begin with
  version  show the version
  help     show this text, or that of a command: lang help run

Of a platform:
  platform                                 start one (lang platform up), look after its accounts
  login, logout, whoami                    sign this machine in and out
  deploy, projects, status, stop, delete   put a folder or a file there, look after it
  logs, audit, approvals                   what programs say, did and ask
  env, secrets, schedule, run --remote     what they run with, and when

Without a command:
  --test                 run the test blocks of the program
"""
    + COMMON
    + """\
  --                     what follows are arguments of the program

Compiled programs are kept in $XDG_CACHE_HOME/lang (else ~/.cache/lang); PLATFORM_CACHE=off turns that off.""",
    "run": """\
Runs a program; '-' reads it from standard input. Further words are its arguments: args(). FILE is a regular file, here and
in every command, or a descriptor that the shell opened: <(...), /dev/fd/N.

"""
    + COMMON
    + AUDIT
    + LINK
    + """\
  --learn                let the program do what it declares too little for, and print the require lines it needs
  --write FILE           with --learn: write those lines to FILE too
  --yes                  with --learn: do not ask first
  --format human|json    json: one line of JSON with output, errors and exit code, as the only thing on stdout
  --explain              on an error: source, calls, variables and what to do, instead of one line
  --filename NAME        name shown for a program from standard input
  --gates HOW            who answers approve, confirm and ask: auto (a terminal if there is one), deny, queue
  --                     what follows are arguments of the program""",
    "serve": """\
Runs a program and stays while its serve block answers requests. SIGTERM or Ctrl-C ends it in order, a second one at once.

  --port N               listen there and not where the block says; grants serve(N)
  --bind ADDR            the address to listen at, or unix:PATH (PLATFORM_BIND, 127.0.0.1)
  --secure               grant nothing implicitly, and tell clients nothing about errors, whatever else says so
  --workers N            answer in N processes (PLATFORM_SERVE_PROCESSES, 1)
  --health PATH          answer 200 there, before the program's routes (PLATFORM_HEALTH_PATH)
  --trust-proxy LIST     addresses and networks whose X-Forwarded-For is believed (PLATFORM_TRUST_PROXY)
  --tls-cert P           serve HTTPS with that certificate chain, and its key:
  --tls-key P
  --access-log           one line on standard error for each request, in the combined log format, without queries and tokens
  --watch                start again when a program changes, and tell clients about errors (as PLATFORM_DEV=1 does);
                         what the changed program requires more or less than before is told first
"""
    + COMMON.replace(
        "the program may print and read the clock, nothing else", "the program may print, read the clock and serve"
    )
    + AUDIT
    + LINK
    + """\
  --                     what follows are arguments of the program""",
    "test": """\
Runs the test blocks of programs. A folder means every *.lang file below it; the last part of a path may hold * and ?.

  -v, --verbose          show what the programs print
  -k EXPR                run the tests whose name contains a word: -k add, -k 'add and not slow'
  --watch                run again when a program changes, until Ctrl-C; what it then requires more or less is told first
  --junit FILE           also write the results to FILE as JUnit XML
"""
    + COMMON
    + AUDIT.rstrip("\n"),
    "check": """\
Parses a program and what it imports, and validates what can be known without running it.

  --format human|json    json: {"ok", "errors", "warnings", "requires"} on stdout
  --compile              keep it compiled, with what it imports, so that even its first run starts fast""",
    "repl": """\
Reads statements and expressions and runs them; the value of an expression is printed. A block ends at an empty line.
'exit' or the end of input leaves.

"""
    + COMMON.rstrip("\n"),
    "fmt": """\
Rewrites programs in place in the canonical layout; comments stay. '-' reads standard input and writes standard output.

  --check                write nothing, list the files that differ; exit code 1 if there are any""",
    "docs": """\
Without a name: every builtin, by family. With names: signature, capability and description of those builtins or families.""",
    "caps": """\
Shows the require lines of a program and of the modules it uses, without running it. Only those of the program itself grant.

  --audit LOG            with the JSON lines of a run: what was declared and never used, and what was refused
  --diff OLD NEW         what NEW declares more, less, wider and narrower; exit code 1 when NEW holds more than OLD.
                         Each is a program, a folder of programs, or either in a git revision: main:agent.lang
  --json                 one JSON object on stdout""",
    "audit": """\
lang audit shows the audit of a deployed project: lang audit --project ID [--granted | --denied] [-q TEXT] [--json].

lang audit verify checks the chain through the files of an audit (--audit-chain), the oldest first. Names the first line
whose link is broken or missing; exit code 1 then.""",
}


def line(command: str) -> str:
    """The usage line of a command; of the tool for the empty text."""
    return LINES[command]


def full(command: str) -> str:
    """What ``--help`` shows."""
    return f"{LINES[command]}\n\n{TEXTS[command]}"
