"""The pages behind decision links: self-contained, without scripts, designed for small screens first.

The message of a gate often contains text from outside. It is escaped, and bidirectional control characters in it are made
visible. The content security policy of the pages allows only their own style and a form to their own origin.
"""

from __future__ import annotations

from language.console_text import one_line, visible
from language.serve.notice_page import notice_page
from language.serve.page_style import STYLE, source_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.shared.gate_board import GateRecord

_CARD = """<div class="card {tone}">
<svg class="sign" viewBox="0 0 44 44" fill="none" stroke="currentColor" stroke-width="2.5" stroke-linecap="round" \
stroke-linejoin="round" aria-hidden="true"><circle cx="22" cy="22" r="19.5"/>{drawing}</svg>
<h1>{title}</h1>
{content}
</div>"""

_CHECK = '<path d="M14 23l5.5 5.5L30.5 16"/>'
_CROSS = '<path d="M15.5 15.5l13 13m0-13l-13 13"/>'
_DOTS = '<path d="M22 12.5v11m0 7v.1"/>'
_CLOCK = '<path d="M22 12v10l6.5 4"/>'

#: Title → tone, icon, and the paragraphs below it.
_RESULTS = {
    "Approved": ("yes", _CHECK, "A HUMAN following a link approved this. The program goes on; you can close this page."),
    "Denied": ("no", _CROSS, "A HUMAN following a link denied this. The program was told; you can close this page."),
    "Answered": ("yes", _CHECK, "A HUMAN following a link answered this. The program goes on; you can close this page."),
    "Not found": (
        "",
        _CLOCK,
        "Nothing is waiting here any more: it has expired, a HUMAN has already decided it, or the program was restarted.",
    ),
    "Invalid link": ("no", _DOTS, "This link is not the one that was sent. Nothing was decided; the program keeps waiting."),
    "Missing decision": ("", _DOTS, "This does not say yes or no. Nothing was decided; the program keeps waiting if it did."),
    "Answer needed": (
        "",
        _DOTS,
        "This question needs an answer in words, not a yes or no. Nothing was decided; the program keeps waiting.",
    ),
    "Answer too long": ("", _DOTS, "An answer has at most 16 KiB. Nothing was decided; the program keeps waiting."),
}

_PRIMARY = {"approve": "Approve", "confirm": "Confirm"}


def content_policy() -> str:
    """The ``Content-Security-Policy`` of the pages: their own style, forms to their own origin, no frames, nothing else."""
    style = source_hash(STYLE)
    return f"default-src 'none'; style-src {style}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"


def result_page(title: str, *, onward: bool = False, by_client: bool = False, before: tuple[str, float] | None = None) -> str:
    """The page with the outcome of a decision. It shows no content of the gate.

    ``onward`` adds a link to the page with the buttons, which is this same address without its query. ``by_client``: the link
    was given to the client of a tool, so nobody knows whether a person followed it. ``before`` is how and when (Unix seconds)
    a gate was decided that the reader comes too late for.
    """
    tone, drawing, text = _RESULTS[title]
    if by_client:
        text = text.replace("A HUMAN following a link", "Whoever followed the link that was given to the client of the tool")
    if before is not None:
        how, when = before
        text = f"This question was already {how}{_moment(when, ' on')}. A decision counts once and cannot be changed."
    content = f"<p>{text}</p>"
    if onward:
        content += '\n<p><a href="?">Answer the question</a></p>'
    return notice_page(title, _CARD.format(title=title, tone=tone, drawing=drawing, content=content))


def button_page(record: GateRecord, token: str, seconds: float, prefix: str, program: str = "") -> str:
    """The page on which a gate is decided: the question, its time limit, and the buttons or the field.

    ``prefix`` is the path below which clients reach the server, ``program`` the name of the program that asks. Only a reader
    with the token of the gate gets this page.
    """
    message = _attribute(visible(record.message))
    asks = f"The program <strong>{_shown(program)}</strong> waits for a HUMAN." if program else "A program waits for a HUMAN."
    content = (
        f'<p id="asks">{asks}</p>\n<blockquote class="message" dir="auto">{message}</blockquote>\n'
        f'<p class="expiry">Open for another <strong>{_duration(seconds)}</strong>{_moment(record.expires_at)}.</p>\n'
        f'<form method="post" action="{_shown(prefix)}/approvals/{_shown(record.id)}" autocomplete="off"{_layout(record)}>\n'
        f'<input type="hidden" name="token" value="{_shown(token)}">\n{_controls(record)}\n</form>\n'
        '<p class="note">What you choose counts at once and cannot be taken back.</p>'
    )
    title = "Decision needed"
    return notice_page(title, _CARD.format(title=title, tone="", drawing=_CLOCK, content=content))


def _layout(record: GateRecord) -> str:
    return ' class="pair"' if record.kind != "ask" else ""


def _controls(record: GateRecord) -> str:
    if record.kind != "ask":
        return (
            f'<button class="primary" name="decision" value="true">{_PRIMARY.get(record.kind, "Yes")}</button>\n'
            '<button class="refuse" name="decision" value="false">Deny</button>'
        )
    if record.options is None:
        return (
            '<label>Your answer<textarea name="value" rows="3" maxlength="16384" dir="auto"></textarea></label>\n'
            '<button class="primary">Send answer</button>'
        )
    return "\n".join(
        f'<button name="value" value="{_attribute(option)}" dir="auto">{_shown(option.strip()) or "(empty)"}</button>'
        for option in record.options
    )


def _shown(text: str) -> str:
    """One line of text as HTML. Control characters, which could change the text around it, are shown as escapes."""
    return _attribute(one_line(text))


def _attribute(text: str) -> str:
    from html import escape

    return escape(text, quote=True)


def _duration(seconds: float) -> str:
    whole = int(seconds)
    days, rest = divmod(whole, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _moment(seconds: float, before: str = ", until") -> str:
    from datetime import UTC, datetime

    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return ""  # later than the calendar can represent
    return f'{before} <time datetime="{moment:%Y-%m-%dT%H:%M:%SZ}">{moment:%d %b %Y, %H:%M:%S} UTC</time>'
