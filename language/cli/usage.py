"""The usage line of each command, shown after a wrong call, and the texts of ``--help``."""

from __future__ import annotations

LINES = {
    "": "usage: lang [--test] [--sandbox | --cap-set LIST] [--version] FILE|-  |  lang COMMAND ...  |  lang help",
    "run": "usage: lang run [flags] FILE|- [args...] [-- args...]",
    "serve": "usage: lang serve [flags] FILE [-- args...]",
    "test": "usage: lang test [flags] [FILE|FOLDER|PATTERN...]",
    "check": "usage: lang check [--format human|json] [--compile] [FILE|FOLDER|-...]",
    "repl": "usage: lang repl [--sandbox | --cap-set LIST]",
    "fmt": "usage: lang fmt [--check | --diff] FILE|FOLDER|-...",
    "docs": "usage: lang docs [NAME...]",
    "mcp": "usage: lang mcp [--sandbox | --cap-set LIST] [--folder DIR] [--time SECONDS] [--output SIZE] [FILE]",
    "caps": "usage: lang caps FILE [--audit LOG] [--json]  |  lang caps --diff OLD NEW [--json]",
    "lsp": "usage: lang lsp [--stdio]",
    "memory": "usage: lang memory check [--reindex] NAME|FILE  |  lang memory export NAME|FILE",
    "llm": "usage: lang llm status [--json] [--try]",
    "conform": "usage: lang conform --swarm [--sandbox | --cap-set LIST] FILE|-",
    "audit": "usage: lang audit verify FILE...  |  lang audit [--project ID] [--granted | --denied] [-q TEXT] [--json]",
}

COMMON = """\
  --sandbox              ceiling: the program may print and read the clock, nothing else
  --cap-set LIST         ceiling: the capabilities a program may use at most, as NAME or NAME=SCOPE, separated by commas;
                         'none' allows nothing
  --env-file PATH        read environment variables from the file PATH instead of ./.env
  --no-env-file          read no .env file
"""

AUDIT = """\
  --audit DEST           write every capability decision as a JSON line to DEST: json (standard error), a file PATH, fd:N
                         (a descriptor) or unix:PATH (a Unix socket)
  --audit-chain          put into each of those lines a hash of the line before, so that 'lang audit verify' finds changes
"""

LINK = """\
  --host-link ADDRESS    connect to the runner that started this process, at a Unix socket or tcp://HOST:PORT: it provides
                         variables, connections, gates and the listening socket, and receives the audit (docs/host-link.md)
  --package FOLDER       a relative path that the program reads is looked up in the working folder first, then in FOLDER
"""

TEXTS = {
    "": """\
Commands:
  run      run a program
  serve    run a program and serve its routes over HTTP
  test     run the test blocks of programs
  check    find errors in programs without running them
  fmt      rewrite programs in the canonical layout
  repl     evaluate lines as they are typed and print their values
  docs     show what builtins, keywords and errors mean
  mcp      serve MCP tools on standard input and output: check, run, test, fmt and docs, or those of a program
  caps     show the capabilities that a program declares, or compare those of two versions
  lsp      run the language server; editors start it
  memory   check the stored memory of an agent, or export it as JSON lines
  llm      show which language model programs use
  conform  run a program with its agents and print as JSON what they came to
  audit    verify the hash chain of an audit log, or show the audit of a deployed project
  new      create a folder with a first program, its test and its lang.toml
  version  show the version
  help     show this text, or the help of a command: lang help run

Commands for a platform:
  platform                                 run a platform (lang platform up) and administer it
  login, logout, whoami                    sign this machine in or out; show its account
  deploy, projects, status, stop, delete   deploy a folder or a file; list, show, stop and delete projects
  logs, audit, approvals                   show logs and audit records; answer the questions of running programs
  env, secrets, schedule, run --remote     set variables, secrets and schedules; run a job

Without a command (lang FILE):
  --test                 run the test blocks of the program
"""
    + COMMON
    + """\
  --                     all words after it are arguments of the program

Compiled programs are cached in $XDG_CACHE_HOME/lang, or ~/.cache/lang without that variable; PLATFORM_CACHE=off turns the
cache off.""",
    "run": """\
Runs a program; '-' reads it from standard input. The words after FILE are the program's arguments, which args() returns.
FILE must be a regular file, or a descriptor that the shell opened: <(...), /dev/fd/N. That holds for every command.
'lang run --remote' runs a job of a platform; 'lang run --remote --help' lists its flags.

"""
    + COMMON
    + AUDIT
    + LINK
    + """\
  --learn                allow capabilities that the program does not declare, and print the require lines it needs
  --write FILE           with --learn: also write those lines to FILE
  --yes                  with --learn: start without asking for confirmation
  --format human|json    json: print one line of JSON with output, errors and exit code, and nothing else, on stdout
  --explain              on an error, also show the chain of calls, the variables and how to correct it
  --trace FILE           write a trace of the run to FILE as OTLP JSON; - prints it as a tree on standard error
  --trace-content        with --trace: include prompts, answers and arguments
  --filename NAME        the name shown in messages for a program from standard input
  --gates HOW            who answers approve, confirm and ask: auto (the terminal, if there is one), deny (all are denied),
                         queue (they wait in a queue until they are answered from outside)
  --provider NAME        the provider whose model answers, instead of that of PLATFORM_LLM_PROVIDER
  --                     all words after it are arguments of the program""",
    "serve": """\
Runs a program and serves the routes of its serve block over HTTP. The first SIGTERM or Ctrl-C ends it after the requests in
progress, a second one ends it at once. A name in parentheses is the environment variable for the same setting, followed by
the default.

  --port N               listen on port N instead of the port of the serve block; grants serve(N)
  --bind ADDRESS         the address to listen on, or unix:PATH (PLATFORM_BIND, 127.0.0.1). At an address of this machine
                         alone, 127.0.0.1 for example, only localhost, IP addresses, each `domain` of the program and the
                         names in PLATFORM_SERVE_HOSTS are answered; PLATFORM_SERVE_HOSTS=* lifts that
  --secure               grant no capability implicitly and show clients no details of errors, whatever other settings say
  --workers N            answer in N processes (PLATFORM_SERVE_PROCESSES, 1)
  --health PATH          answer GET PATH with 200, before the program's routes (PLATFORM_HEALTH_PATH)
  --trust-proxy LIST     addresses and networks of proxies whose X-Forwarded-For is trusted (PLATFORM_TRUST_PROXY)
  --tls-cert PATH        serve HTTPS with the certificate chain in this PEM file; needs --tls-key
  --tls-key PATH         the private key of that certificate
  --access-log           write one line to standard error for each request, in the combined log format, without query strings
                         and tokens
  --watch                restart when a program file changes, after showing which capabilities were added or removed; show
                         clients the details of errors (as PLATFORM_DEV=1 does)
"""
    + COMMON.replace(
        "the program may print and read the clock, nothing else", "the program may print, read the clock and serve"
    )
    + AUDIT
    + LINK
    + """\
  --                     all words after it are arguments of the program""",
    "test": """\
Runs the test blocks of programs. A folder stands for every *.lang file below it, and without any path the current folder is
meant. The last part of a path may contain * and ?.

  -v, --verbose          show what the programs print
  -k EXPR                run only the tests whose name matches: -k add, -k 'add and not slow'
  --watch                run again whenever a program file changes, after showing which capabilities were added or removed;
                         Ctrl-C ends it
  --junit FILE           also write the results to FILE as JUnit XML
  --record DIR           store the answers of the language model in the folder DIR
  --replay DIR           take the answers from DIR instead of asking the model; a question without an answer there fails
"""
    + COMMON
    + AUDIT.rstrip("\n"),
    "check": """\
Finds errors and warnings in programs and in the modules and templates they use, without running them. A folder stands for
every *.lang file below it, and without any path the current folder is meant. A file that another one imports is checked as a
module of it. Exit code 1 if there are errors.

  --format human|json    json: print {"ok", "errors", "warnings", "requires"} on stdout
  --compile              also store the compiled programs and modules in the cache, so that the first run starts fast; then
                         the exit code is 1 only for errors that stop a program before its first statement, or if the cache
                         cannot be written""",
    "repl": """\
Reads statements and expressions and runs them. The value of an expression is printed. A block ends with an empty line.
'exit' or the end of input ends the session.

"""
    + COMMON.rstrip("\n"),
    "fmt": """\
Rewrites programs in place in the canonical layout and keeps their comments. '-' reads standard input and writes standard
output.

  --check                change no file, list those that differ; exit code 1 if there are any
  --diff                 change no file, show the differences; exit code 1 if there are any""",
    "docs": """\
Without a name: lists every builtin, by family. With names: explains builtins and families of builtins (lang docs split),
keywords (lang docs when) and error codes (lang docs E0201). 'lang docs guide' prints the whole language on one page.""",
    "mcp": """\
Serves the Model Context Protocol on standard input and output. Without FILE it offers the tools check, run, test, fmt and
docs. Programs that the client sends are not trusted: each runs in a process of its own, in an empty folder, and may only print
and read the clock unless --cap-set allows more.

  --folder DIR           run programs in this folder: they can use its modules and templates, and relative paths start there
  --time SECONDS         the longest time of a call (10)
  --output SIZE          the most that a call may write (64kb)
  --memory SIZE          the most memory that a program may use (512mb)

With FILE it offers the tools of that program: those of its route that gives mcp_reply.

  --route PATH           the path of that route; needed if there are several, or if it is in a module
  --token-env NAME       the environment variable with the token to send with every message, for routes with `requires auth`

"""
    + COMMON.rstrip("\n"),
    "caps": """\
Shows the require lines of a program and of the modules it uses, without running it. Only the lines of the program itself
grant capabilities.

  --audit LOG            also show which capabilities were never used and which were refused, from the file that
                         'lang run --audit' wrote
  --diff OLD NEW         show which capabilities were added, removed, widened and narrowed; exit code 1 if NEW can do more
                         than OLD. Each is a program or a folder of programs, also in a git revision: main:agent.lang
  --json                 print one JSON object on stdout""",
    "lsp": """\
Serves the Language Server Protocol on standard input and output: errors while typing, completion, navigation, renaming,
formatting. It runs no program. It needs additional packages: pip install 'ceiling-lang[lsp]'.

  --stdio                has no effect, because standard input and output are the default; some editors pass it""",
    "memory": """\
Checks or exports the stored memory of an agent. NAME is the name in the program's line require memory("NAME"); its file is
looked up in the folder of PLATFORM_STATE_DIR, or in .lang/state below the working folder without that variable. FILE is the
path of such a file.

lang memory check lists what is damaged; exit code 1 if anything is. lang memory export writes each entry, rule and task as one
line of JSON; of a damaged file it writes what can be read, with exit code 1.

  --reindex              with check: rebuild the search index from the entries""",
    "conform": f"""\
lang conform --swarm FILE runs a program, waits until its agents have ended, and prints one JSON object on stdout:

  ok                     whether the exit code is 0; it is that of lang run
  out                    the lines printed; those of an agent begin with its name in brackets
  err                    the lines of the error stream, the errors at the end
  blackboard             what the program and its agents shared, by key
  agents                 the state in which each agent ended, by id: DONE, ERROR, STOPPED

A gate of the program is refused.

{COMMON}
{AUDIT.rstrip()}""",
    "llm": """\
lang llm status shows the provider, the model and the limits that programs get, each with its source: environ (an environment
variable), .env or default. Exit code 1 if no model is configured.

  --try                  ask the model one short question; exit code 1 if it does not answer
  --json                 print one JSON object on stdout
  --env-file PATH        read environment variables from the file PATH instead of ./.env
  --no-env-file          read no .env file""",
    "audit": """\
lang audit verify checks the hash chain of audit files that were written with --audit-chain. Give the oldest file first. It
names the first line that was changed, or whose predecessor is missing; exit code 1 then.

lang audit shows the audit records of a deployed project, the newest first.

  --project ID           its id, slug or name; the default is the project to which this folder was deployed
  --granted, --denied    only what was granted, or only what was refused
  -q TEXT                only records that contain TEXT
  --url URL              the platform; the default is PLATFORM_URL, else that of the last 'lang login'
  --json                 print the answer of the platform as JSON""",
}


def line(command: str) -> str:
    """The usage line of a command; for the empty text, that of ``lang`` itself."""
    return LINES[command]


def full(command: str) -> str:
    """What ``--help`` shows."""
    return f"{LINES[command]}\n\n{TEXTS[command]}"
