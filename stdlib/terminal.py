"""The terminal of the person who runs the program. Under a ceiling it needs ``stdout``, for keys ``stdin``."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import TRUE, Bool, type_of
from language.values.display import display
from stdlib.native_only import native_only
from stdlib.options import option_map, timeout_of, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.host.terminal import UserTerminal
    from language.runtime.context import Context, Lifetime

family = Family("terminal", "Terminal")

_SECONDS = 30.0
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_WEIGHTS = {"bold": "1", "dim": "2", "italic": "3", "underline": "4", "reverse": "7"}
_MOST = 9999
#: the runs in which the cursor was hidden
_hiding: set[Lifetime] = set()
_reading_keys: set[Lifetime] = set()


@family.builtin("term_size()", profile="native", context=True)
def term_size(ctx: Context) -> dict[str, int] | None:
    """The size of the terminal as `{columns, rows}`; `nothing` when the output does not go to a terminal.

    `let size be term_size()`
    """
    size = _terminal(ctx, "term_size", "stdout").size()
    return None if size is None else {"columns": size[0], "rows": size[1]}


@family.builtin("term_key(timeout?)", profile="native", context=True)
def term_key(ctx: Context, timeout: Any = None) -> str | None:
    """The next key that is pressed, without waiting for Enter and without echo; `nothing` when no key is pressed within
    `timeout` seconds (30; 0 checks once).

    A character is itself (`a`, `A`, `é`). Others have names: `enter`, `tab`, `backspace`, `escape`, `space`, `up`, `down`,
    `left`, `right`, `home`, `end`, `page_up`, `page_down`, `insert`, `delete`, `f1` to `f12`; with a modifier `ctrl+a`,
    `alt+x`, `shift+up`; `eof` at the end of input. Ctrl-C ends the program as usual. From the first call on, typed text is not
    shown, until `read_line`, a gate or the end of the run. It is an error when standard input is not a terminal.

    `when term_key() == "q"`
    """
    from language.host.terminal import key_name

    terminal = _terminal(ctx, "term_key", "stdin")
    seconds = timeout_of("term_key", timeout, _SECONDS)
    if not terminal.has_keys:
        raise RuntimeFault(
            "term_key: standard input is no terminal: read_line reads it by lines, and a terminal runs the program with keys",
            kind="unsupported",
        )
    lifetime = ctx.lifetime
    if lifetime not in _reading_keys:
        _reading_keys.add(lifetime)
        lifetime.at_end(lambda: _release(terminal, lifetime))
    data = terminal.key(seconds)
    if data is None:
        return None
    return key_name(data) if data else "eof"


@family.builtin("term_style(text, style)", profile="native", context=True)
def term_style(ctx: Context, text: Any, style: Any) -> str:
    """The text with control sequences for its style, for `print`; unchanged when the output does not go to a terminal or
    `NO_COLOR` is set.

    `style` is a map of `color` and `background` (`black`, `red`, `green`, `yellow`, `blue`, `magenta`, `cyan`, `white`; with
    `bright_` before it the bright one; or `[red, green, blue]` from 0 to 255) and `bold`, `dim`, `italic`, `underline`,
    `reverse` (`true`).

    `print(term_style("failed", {"color": "red", "bold": true}))`
    """
    terminal = _terminal(ctx, "term_style", "stdout")
    options = option_map("term_style", style, ("color", "background", *_WEIGHTS))
    codes = [code for name, code in _WEIGHTS.items() if _is_on(name, options.get(name))]
    if "color" in options:
        codes.append(_colour("color", options["color"], 30))
    if "background" in options:
        codes.append(_colour("background", options["background"], 40))
    shown = display(text)
    if not codes or not terminal.colours:
        return shown
    return f"\x1b[{';'.join(codes)}m{shown}\x1b[0m"


@family.builtin("term_move(column, row)", profile="native", context=True)
def term_move(ctx: Context, column: Any, row: Any) -> Bool:
    """Moves the cursor: column 1 and row 1 are the upper left corner. Gives `true`. Without a terminal it does nothing.

    `term_move(1, 1)`
    """
    _need(ctx, "term_move")
    places = [whole(value) for value in (column, row)]
    if any(place is None or not 1 <= place <= _MOST for place in places):
        raise RuntimeFault(f"term_move: column and row must be integers from 1 to {_MOST}")
    return _write(ctx, "term_move", f"\x1b[{places[1]};{places[0]}H")


@family.builtin("term_clear(part?)", profile="native", context=True)
def term_clear(ctx: Context, part: Any = None) -> Bool:
    """Clears the screen and moves the cursor to its upper left corner; with `"line"` the line of the cursor, with `"below"`
    everything after and below the cursor. Gives `true`. Without a terminal it does nothing.
    """
    _need(ctx, "term_clear")
    sequences = {"screen": "\x1b[2J\x1b[H", "line": "\r\x1b[2K", "below": "\x1b[J"}
    name = "screen" if part is None else part
    if type(name) is not str or name not in sequences:
        raise RuntimeFault(f"term_clear: the part must be one of {', '.join(sequences)}")
    return _write(ctx, "term_clear", sequences[name])


@family.builtin("term_cursor(visible)", profile="native", context=True)
def term_cursor(ctx: Context, visible: Any) -> Bool:
    """Shows or hides the cursor and gives `true`. A hidden cursor is shown again at the end of the run. Without a terminal it
    does nothing.
    """
    _need(ctx, "term_cursor")
    if type(visible) is not Bool:
        raise RuntimeFault(f"term_cursor expects true or false, got {type_of(visible)}", kind="type")
    if visible:
        return _write(ctx, "term_cursor", "\x1b[?25h")
    terminal = _terminal(ctx, "term_cursor", "stdout")
    lifetime = ctx.lifetime
    if terminal.shows and ctx.lines is None and lifetime not in _hiding:
        _hiding.add(lifetime)
        lifetime.at_end(lambda: _show_again(ctx, lifetime))
    return _write(ctx, "term_cursor", "\x1b[?25l")


def _release(terminal: UserTerminal, lifetime: Lifetime) -> None:
    _reading_keys.discard(lifetime)
    terminal.release()


def _show_again(ctx: Context, lifetime: Lifetime) -> None:
    if lifetime in _hiding:
        ctx.host.write_prompt("\x1b[?25h")
        _hiding.discard(lifetime)


def _write(ctx: Context, builtin: str, sequence: str) -> Bool:
    terminal = _terminal(ctx, builtin, "stdout")
    if terminal.shows and ctx.lines is None:
        ctx.host.write_prompt(sequence)
    return TRUE


def _need(ctx: Context, builtin: str) -> None:
    if not ctx.host.runs_jobs:
        raise native_only(builtin, "this build has no child processes")


def _terminal(ctx: Context, builtin: str, stream: str) -> UserTerminal:
    _need(ctx, builtin)
    ctx.capabilities.check_output(stream)
    found = ctx.host.terminal
    if found is None:
        raise native_only(builtin, "this host has no terminal")
    return found


def _is_on(name: str, value: Any) -> bool:
    if value is not None and type(value) is not Bool:
        raise RuntimeFault(f'term_style: option "{name}" must be true or false, got {type_of(value)}', kind="type")
    return bool(value)


def _colour(option: str, value: Any, base: int) -> str:
    if type(value) is list:
        parts = [whole(part) for part in value]
        if len(parts) == 3 and all(part is not None and 0 <= part <= 255 for part in parts):
            return f"{base + 8};2;{parts[0]};{parts[1]};{parts[2]}"
    elif type(value) is str:
        bright, name = (60, value.removeprefix("bright_")) if value.startswith("bright_") else (0, value)
        if name in _COLOURS:
            return str(base + bright + _COLOURS.index(name))
    raise RuntimeFault(f'term_style: option "{option}" must be one of {", ".join(_COLOURS)}, bright_..., or [red, green, blue]')
