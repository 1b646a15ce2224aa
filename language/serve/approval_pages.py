"""The pages of the decision links: self-contained, without scripts, for the narrowest screen first.

The message of a gate often comes from outside: it is escaped, marks of direction are shown and not obeyed, and the policy of
the pages allows nothing but their own style and a form to their own origin.
"""

from __future__ import annotations

from functools import cache

from language.console_text import one_line, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.shared.gate_board import GateRecord

_STYLE = """
:root{color-scheme:light dark;--ground:#f3f1ec;--card:#fffdf9;--line:#ddd8cd;--ink:#1d1b18;--soft:#625c52;--yes:#1c6b45;
--yes-ink:#fff;--no:#a3262a;--quote:#f7f4ed;--focus:#1f5fbf}
@media (prefers-color-scheme:dark){:root{--ground:#141311;--card:#1f1d1a;--line:#3a362f;--ink:#f0ece4;--soft:#aaa397;
--yes:#5fc795;--yes-ink:#0b2317;--no:#ff9a93;--quote:#292622;--focus:#8ab8ff}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;min-height:100vh;min-height:100svh;display:flex;align-items:center;justify-content:center;
padding:max(1rem,env(safe-area-inset-top)) max(1rem,env(safe-area-inset-right)) max(1rem,env(safe-area-inset-bottom))
max(1rem,env(safe-area-inset-left));background:var(--ground);color:var(--ink);
font:1.0625rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
main{width:100%;max-width:28rem;background:var(--card);border:1px solid var(--line);border-radius:1.125rem;
padding:1.5rem 1.25rem 1.25rem;box-shadow:0 1px 2px rgb(0 0 0/.06),0 12px 32px -16px rgb(0 0 0/.25)}
svg{display:block;width:2.75rem;height:2.75rem;margin:0 0 .75rem;color:var(--soft)}
.yes svg{color:var(--yes)}.no svg{color:var(--no)}
h1{margin:0 0 .5rem;font-size:1.5rem;line-height:1.25;letter-spacing:-.015em;text-wrap:balance}
p{margin:.5rem 0;color:var(--soft)}
.message{margin:1rem 0;padding:.875rem 1rem;background:var(--quote);border:1px solid var(--line);border-radius:.75rem;
color:var(--ink);font-size:1.125rem;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate}
.expiry{font-size:.9375rem;font-variant-numeric:tabular-nums}
.expiry strong{color:var(--ink)}
form{margin:1.25rem 0 0;display:grid;gap:.75rem}
label{font-weight:600}
textarea{display:block;width:100%;margin-top:.375rem;padding:.75rem;font:inherit;color:inherit;background:var(--quote);
border:1px solid var(--soft);border-radius:.75rem;resize:vertical;min-height:6rem}
button{min-height:3.25rem;padding:.75rem 1rem;font:inherit;font-weight:600;border-radius:.75rem;cursor:pointer;
border:1.5px solid var(--soft);background:transparent;color:var(--ink);overflow-wrap:anywhere;touch-action:manipulation}
button.primary{background:var(--yes);border-color:var(--yes);color:var(--yes-ink)}
button.refuse{border-color:var(--no);color:var(--no)}
button:active{transform:translateY(1px)}
:focus-visible{outline:3px solid var(--focus);outline-offset:2px}
a{color:inherit;display:inline-block;padding:.5rem 0}
.note{font-size:.875rem;margin:1rem 0 0;padding-top:.875rem;border-top:1px solid var(--line)}
@media (min-width:26rem){main{padding:2rem 2rem 1.5rem}.pair{grid-template-columns:1fr 1fr}}
@media (prefers-reduced-motion:reduce){button:active{transform:none}}
@media (forced-colors:active){main,.message,button,textarea{border-color:CanvasText}}
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main class="{tone}">
<svg viewBox="0 0 44 44" fill="none" stroke="currentColor" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round" \
aria-hidden="true"><circle cx="22" cy="22" r="19.5"/>{drawing}</svg>
<h1>{title}</h1>
{content}
</main>
</body>
</html>
"""

_CHECK = '<path d="M14 23l5.5 5.5L30.5 16"/>'
_CROSS = '<path d="M15.5 15.5l13 13m0-13l-13 13"/>'
_DOTS = '<path d="M22 12.5v11m0 7v.1"/>'
_CLOCK = '<path d="M22 12v10l6.5 4"/>'

#: Title → tone, drawing, and the paragraphs below it.
_RESULTS = {
    "Approved": ("yes", _CHECK, "A HUMAN following a link approved this. The program goes on; you can close this page."),
    "Denied": ("no", _CROSS, "A HUMAN following a link denied this. The program knows; you can close this page."),
    "Answered": ("yes", _CHECK, "A HUMAN following a link answered this. The program goes on; you can close this page."),
    "Not found": (
        "",
        _CLOCK,
        "Nothing is waiting here any more: it has expired, a HUMAN has already decided it, or the program was started anew.",
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


@cache
def content_policy() -> str:
    """The ``Content-Security-Policy`` of the pages: their own style, forms to their own origin, in no frame, nothing else."""
    from base64 import b64encode
    from hashlib import sha256

    digest = b64encode(sha256(_STYLE.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"


def result_page(title: str, *, onward: bool = False) -> str:
    """The page that says what became of a decision. Nothing of the gate is in it.

    ``onward`` adds a link to the button page, which is this same address without its query.
    """
    tone, drawing, text = _RESULTS[title]
    content = f"<p>{text}</p>"
    if onward:
        content += '\n<p><a href="?">Answer the question</a></p>'
    return _PAGE.format(style=_STYLE, title=title, tone=tone, drawing=drawing, content=content)


def button_page(record: GateRecord, token: str, seconds: float, prefix: str, program: str = "") -> str:
    """The page on which a gate is decided: the question, how long it stands, and the buttons or the field.

    ``prefix`` is the path under which the outside world sees the server, ``program`` the name of the program that asks. Only
    who holds the token comes here.
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
    return _PAGE.format(style=_STYLE, title="Decision needed", tone="", drawing=_CLOCK, content=content)


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
    """One line of text as HTML; what would act on the text around it is shown as an escape."""
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


def _moment(expires_at: int) -> str:
    from datetime import UTC, datetime

    try:
        moment = datetime.fromtimestamp(expires_at, UTC)
    except (OverflowError, ValueError, OSError):
        return ""  # beyond the calendar
    return f', until <time datetime="{moment:%Y-%m-%dT%H:%M:%SZ}">{moment:%d %b %Y, %H:%M:%S} UTC</time>'
