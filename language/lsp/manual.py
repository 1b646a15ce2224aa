"""What the manual says of a word, as Markdown: builtins, constants, keywords, capabilities, the fields of a request."""

from __future__ import annotations

from language import library
from language.capabilities import NAMES
from language.registry import Builtin
from language.values.display import display

#: What a capability lets a program do, in the words of ``docs/capabilities.md``.
CAPABILITIES = {
    "net": "Connect to a host: `require net(\"api.example.com\")`. `*` in a scope stands for any run of characters.",
    "file": "Read and write files: `require file(\"./data/*\")`.",
    "file.read": "Read files and folders: `require file.read(\"./data/*\")`.",
    "file.write": "Write and delete files: `require file.write(\"./out/*\")`.",
    "exec": "Start a command: `require exec(\"git\")`.",
    "env": "Read a variable of the environment: `require env(\"APP_*\")`.",
    "time": "Read the clock and wait. Granted to every program.",
    "random": "Randomness.",
    "stdout": "Print. Granted to every program.",
    "stdin": "Read standard input.",
    "llm": "Ask a language model. Granted to every program.",
    "db": "Open a database: `require db(\"sqlite:shop.db\")`.",
    "serve": "Answer HTTP requests at a port: `require serve(8080)`.",
    "secret": "Use a secret: `require secret(\"API_KEY\")`.",
    "reveal": "Read a secret as plain text: `require reveal(\"API_KEY\")`.",
    "sign": "Sign with a secret key.",
    "wallet": "Name the account of a wallet.",
    "spend": "Spend from a wallet.",
    "memory": "Remember between runs: `require memory(\"notes\")`.",
    "sandbox_run": "Run text as a program of its own, under a ceiling.",
}  # fmt: skip

#: What `request` holds in a handler.
REQUEST_FIELDS = {
    "method": "The method: `GET`, `POST`, ...",
    "path": "The path of the address, without the query.",
    "body": "The body as text.",
    "body_file": "The path of the file that a large body waits in, else `nothing`.",
    "json": "The body read as JSON.",
    "headers": "The header fields: a map from names in lower case to texts.",
    "cookies": "The cookies: a map from names to texts.",
    "query": "The parameters of the query: a map from names to texts.",
    "params": "What the `:name` and `*name` parts of the route matched.",
    "form": "The fields of a form and the files sent with it.",
    "ip": "The address of the client.",
    "user": "What the task of `auth with` gave for this request.",
}


def builtin_text(builtin: Builtin) -> str:
    """All about one builtin."""
    lines = [code(builtin.signature), ""]
    facts = []
    if builtin.alias_of is not None:
        facts.append(f"Deprecated name of `{builtin.alias_of}`.")
    if builtin.capability is not None:
        facts.append(f"Needs the capability `{builtin.capability}`.")
    if builtin.profile != "everywhere":
        facts.append("Not available in the WebAssembly builds.")
    if builtin.named:
        facts.append(f"By name: {', '.join(f'`{name}`' for name in builtin.named)}.")
    if facts:
        lines += [" ".join(facts), ""]
    return "\n".join([*lines, builtin.doc]).rstrip()


def constant_text(name: str) -> str:
    """A constant and its value; the empty text for a name that is none."""
    known = library().all_constants().get(name)
    return f"{code(f'{name} = {display(known[1])}')}\n\nA constant." if known is not None else ""


def capability_text(name: str) -> str:
    """What a capability allows; the empty text for a name that is none."""
    told = CAPABILITIES.get(name)
    return f"{code(f'require {name}')}\n\n{told}" if told is not None and name in NAMES else ""


def request_field_text(name: str) -> str:
    """What a field of `request` holds; the empty text for a name that is none."""
    told = REQUEST_FIELDS.get(name)
    return f"{code(f'request.{name}')}\n\n{told}" if told is not None else ""


def code(text: str) -> str:
    """A piece of a program as a block of Markdown."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}lang\n{text}\n{fence}"
