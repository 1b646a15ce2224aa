"""The words of the language that are no builtins: what each is for, in a sentence and the form it is written in."""

from __future__ import annotations

from language.lsp.manual import code

_EXPRESSION = {
    "and": ("a and b", "True where both sides are; the right side is looked at only then."),
    "or": ("a or b", "True where one side is; the right side is looked at only where the left one is not."),
    "not": ("not a", "True where the operand is not."),
    "in": ("item in list", "Whether a list has the item, a map the key, a text the part."),
    "of": ("name of person", "The field of a value: the same as `person.name`."),
    "is": ("is pattern", "Begins an arm of `match`."),
    "then": ("when c then a otherwise b", "Stands between the condition and the value of an inline `when`."),
    "when": ("when condition\n    ...\notherwise\n    ...", "Chooses. Inline it is a value: `when c then a otherwise b`."),
    "otherwise": ("otherwise when condition", "The branch for everything else; with `when` a further condition."),
    "true": ("true", "The bool that is true."),
    "false": ("false", "The bool that is false."),
    "nothing": ("nothing", "The empty value."),
    "be": ("let name be value", "Stands between a new name and its value."),
    "to": ("set name to value", "Stands between what is set and its new value."),
    "as": ('use "./file.lang" as name', "Stands before the name that something gets."),
    "with": ("auth with task", "Stands before what a construct is given."),
    "sandbox": ("sandbox\n    ...", "Runs a block or an expression with fewer capabilities."),
    "reason": ("reason about topic", "Asks the language model to think about something; the value is its text."),
    "decide": ("decide between options given facts", "Asks the language model to choose one of the options."),
    "analyze": ('analyze subject for "purpose"', "Asks the language model what it makes of a value."),
    "generate": ('generate "what" given facts', "Asks the language model to write something."),
    "approve": ('approve "message"', "Asks a person to approve; the value is a bool. `within 1h` bounds the wait."),
    "confirm": ('confirm "message"', "Asks a person to confirm; the value is a bool. `within 1h` bounds the wait."),
    "ask": ('ask "question" with ["a", "b"]', "Asks a person; the value is the answer. `with` lists the possible ones."),
    "show": ('show value as "label"', "Shows a value to a person; the value is the value itself."),
}  # fmt: skip
_STATEMENT = {
    "let": ("let name be value", "Makes a variable."),
    "set": ("set name to value", "Changes a variable, or what lies in it: `set list[0] to 1`, `set map.key to 2`."),
    "task": ("task name(a, b = 1)\n    give a + b", "Defines a task. `give` gives its value, else its last line does."),
    "give": ("give value", "Ends a task with its value."),
    "stop": ("stop", "Leaves the loop."),
    "each": ("each item in list\n    ...", "Walks a list, the keys of a map, the characters of a text."),
    "while": ("while condition\n    ...", "Repeats as long as the condition is true."),
    "match": ("match value\n    is pattern\n        ...", "Takes a value apart: the first arm whose pattern fits runs."),
    "try": ("try\n    ...\nrecover why\n    ...", "Runs a block; where an error ends it, `recover` runs with its message."),
    "recover": ("recover why", "What runs when the `try` above failed; the name gets the message."),
    "raise": ('raise "why"', "Raises an error with that message."),
    "type": ("type Point\n    x: number\n    y: number", "Defines a type: a task that makes a map with these fields."),
    "enum": ("enum Shape\n    dot(at)\n    empty", "Defines a closed choice of variants."),
    "require": ('require net("api.example.com")', "Declares a capability. Without it what needs the capability is refused."),
    "intent": ('intent: "what this program is for"', "Says what the program is for."),
    "invariant": ('invariant "text": condition', "Ends the program where the condition does not hold."),
    "use": ('use "./file.lang" as name', "Loads a module: what it exports stands behind `name.`"),
    "export": ("export task name()", "Lets other files use a task, type, enum, variable or group of routes."),
    "test": ('test "what holds"\n    assert(true)', "A test; `lang test` runs it."),
    "agent": ("agent name\n    ...", "Defines an agent, which `spawn` starts."),
    "spawn": ("spawn name with a = 1", "Starts an agent with values of its own."),
    "share": ("share value as name", "Makes a value known to the agents under a name."),
    "observe": ("observe name as local", "Reads a value that an agent shared."),
    "signal": ("signal name with value", "Sends a signal that `wait_for` waits for."),
    "wait_for": ("wait_for name timeout seconds as value", "Waits for a signal."),
    "trace": ('trace "label"\n    ...', "Runs a block and tells when it begins and ends."),
    "measure": ('measure "label"\n    ...', "Runs a block and tells how long it took."),
    "log": ("log value", "Writes a value to the log."),
    "checkpoint": ("checkpoint value", "Notes a state that the program has reached."),
    "expect": ("expect body {name: text, price: number}", "Ends a request with 400 where its body has other fields."),
    "send": ('send value as "event"', "Sends an event of a `stream`."),
    "stream": ("stream\n    send value", "Answers a request with a stream of events."),
    "socket": ("socket\n    ws_send(socket, value)", "Answers a request with a WebSocket."),
    "proxy": ('proxy to "http://127.0.0.1:9000"', "Passes a request on to another server."),
    "serve": ("serve on 8080\n    ...", "Answers HTTP requests with the routes below."),
    "route": ('route "GET /pens/:id"\n    give params.id', "Answers requests of a method and path."),
    "auth": ("auth with task", "A route that `requires auth` runs when the task gives anything but `nothing`."),
    "errors": ("errors with task", "Shapes the bodies of the replies 401, 404, 405 and 500."),
    "rate_limit": ("rate_limit 60 per minute", "How many requests an address may send."),
    "max_body": ('max_body "2mb"', "The largest body of a request."),
    "max_streams": ("max_streams 100", "How many streams and sockets may be open."),
    "static": ('static "/assets" from "public"', "Serves the files of a folder."),
    "cors": ('cors "https://example.com"', "The origin whose pages may read replies."),
    "mount": ('mount module.group at "/prefix"', "Adds the routes of a module."),
    "host": ('host "api.example.com"\n    ...', "Routes of their own for a host."),
    "describe": ("describe\n    about: \"...\"", "What the service says of itself."),
}  # fmt: skip

#: Words that stand inside of expressions and lines, words that begin a line.
KEYWORDS = frozenset(_EXPRESSION)
STATEMENTS = frozenset(_STATEMENT)


def keyword_text(word: str) -> str:
    """What a keyword is for; the empty text for a word that is none."""
    told = _EXPRESSION.get(word) or _STATEMENT.get(word)
    return f"{code(told[0])}\n\n{told[1]}" if told is not None else ""
