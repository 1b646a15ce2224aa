"""Access to the plaintext of secrets. Gate: ``reveal``. Every attempt is written to the audit log ``reveal.log``."""

from __future__ import annotations

from language.errors import FILE_MARK, RuntimeFault
from language.registry import Family
from language.values import Secret, type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context

family = Family("sealing", "Revealing secrets")

_LOG = "reveal.log"


@family.builtin("reveal(s)", capability="reveal", context=True)
def reveal(ctx: Context, s: Any) -> str | bytes:
    """The plaintext of a secret: text, or bytes. Needs `require reveal("NAME")` for every name of the secret.

    Each attempt, also a refused one, adds a line to `reveal.log` in the folder `$PLATFORM_AUDIT_DIR`, else `~/.lang/audit`;
    without that line nothing is revealed. Sealing protects against accidents and against input data that manipulates a program,
    not against the author of the program.

    Arguments that are keys, passwords or HTTP headers accept a secret directly, without `reveal`.
    """
    if type(s) is not Secret:
        raise RuntimeFault(f"reveal() expects a secret, got {type_of(s)}", kind="type")
    return unsealed(ctx, s)


def unsealed(ctx: Context, secret: Secret) -> str | bytes:
    """The plaintext, for an effect that sends it outside, by the rules of ``reveal``: capability, ceiling, a line in the log.

    Raises ``RuntimeFault`` when a name of the secret is not granted or the log cannot be written.
    """
    for name in secret.names:
        try:
            ctx.check("reveal", name)
        except RuntimeFault:
            _note_refusal(ctx, name)
            raise
    plaintext = secret.plaintext
    try:
        ctx.host.append_audit_line(_LOG, "\n".join([_line(ctx, "granted", name) for name in secret.names]))
    except OSError as error:
        raise RuntimeFault(
            f'reveal("{secret.names[0]}") failed: cannot write the audit log ({error.strerror or error}). '
            "Refusing to reveal without an audit trail.",
            kind="file",
        ) from None
    return plaintext


def _note_refusal(ctx: Context, name: str) -> None:
    try:
        ctx.host.append_audit_line(_LOG, _line(ctx, "denied", name))
    except OSError:
        return  # It is refused whether or not the line could be written.


def _line(ctx: Context, result: str, name: str) -> str:
    from stdlib.time_format import format_time

    file, line = _place()
    program = ctx.program.replace("\\", "/").rpartition("/")[2]
    stem = program.rpartition(".")[0] or program
    when = format_time(ctx.host.now())
    return f"{when} reveal result={result} name={_one_word(name)} at={_one_word(file)}:{line} program={_one_word(stem)}"


def _place() -> tuple[str, int]:
    """File and line of the program that the call came from."""
    import sys

    frame = sys._getframe(1)
    while frame is not None:
        if FILE_MARK in frame.f_globals:
            return frame.f_globals[FILE_MARK], frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return "", 0


def _one_word(text: str) -> str:
    """The text with blanks, control characters and backslashes as ``\\uXXXX``: a name cannot end its field or its line."""
    return "".join([c if c.isprintable() and c not in " \\" else _escape(c) for c in text])


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join([f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2)])
