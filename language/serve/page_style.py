"""The stylesheet of all pages that the runtime makes: content pages, the reference page, errors, decision links.

Everything is in one cascade layer, so that any rule of a program's own stylesheet wins over it. The colours are those of the
platform's dashboard. The dark scheme changes only colours; the contrast is WCAG 2.2 AA in both.
"""

from __future__ import annotations

from binascii import crc32

from language.serve.reply import Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.serve.request import Request

STYLE = """\
@layer lang {
:root {
  color-scheme: light dark;
  --paper: #fbfbfa; --card: #fff; --ink: #1d2126; --quiet: #5a626c; --line: #dfe2e6; --field: #8a929c; --code: #f1f2f4;
  --link: #1f57c3; --accent: #1f57c3; --on-accent: #fff;
  --good: #17693a; --good-paper: #e4f4ea; --wait: #7a4f00; --wait-paper: #fdf1d6; --bad: #a3231f; --bad-paper: #fce8e7;
  --radius: 8px;
  --mono: ui-monospace, "Cascadia Mono", "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --card: #1c2024; --ink: #e8eaed; --quiet: #a3acb6; --line: #32383f; --field: #6d7680; --code: #262b31;
    --link: #8db4ff; --accent: #8db4ff; --on-accent: #10151f;
    --good: #7ddba1; --good-paper: #16301f; --wait: #f2c46d; --wait-paper: #33270f; --bad: #ff9d98; --bad-paper: #3a1a19;
  }
  svg.adaptive { filter: invert(.92) hue-rotate(180deg) }
}
*, ::before, ::after { box-sizing: border-box }
html {
  font: 1.0625rem/1.65 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-padding-top: 1rem;
}
body { margin: 0; background: var(--paper); color: var(--ink); overflow-wrap: break-word }
body > * { max-width: 44rem; margin-inline: auto; padding-inline: 1.25rem }
main { padding-block: clamp(1.75rem, 6vw, 4rem) }
body > header, body > nav, body > footer { padding-block: 1.25rem; color: var(--quiet); font-size: .9375rem }
main > :first-child { margin-top: 0 }
main > :last-child { margin-bottom: 0 }
h1, h2, h3, h4, h5, h6 { line-height: 1.25; margin: 2.25em 0 .6em; font-weight: 650; text-wrap: balance }
h1 { font-size: clamp(1.875rem, 1.5rem + 2vw, 2.5rem); letter-spacing: -.022em; line-height: 1.15; margin: 0 0 .7em }
h2 { font-size: 1.4375rem; letter-spacing: -.012em }
h3 { font-size: 1.1875rem }
h4, h5, h6 { font-size: 1rem }
:is(h2, h3, h4, h5, h6) + :is(h3, h4, h5, h6) { margin-top: .75em }
p, ul, ol, dl, blockquote, figure, table, pre, details, form { margin: 0 0 1.15em }
p, li { text-wrap: pretty }
:where(p, h1, h2, h3, h4, h5, h6, li, dt, dd, th, td, blockquote, figcaption, caption):not([dir]) { unicode-bidi: plaintext }
a { color: var(--link); text-decoration-thickness: .07em; text-underline-offset: .18em }
a:hover { text-decoration-thickness: .13em }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 3px }
ul, ol { padding-inline-start: 1.4em }
li { margin: .3em 0; text-align: left }
:is(ul, ol):dir(rtl) > li { text-align: right }
:is(ul, ol):empty { display: none }
li::marker { color: var(--quiet) }
li > :is(ul, ol, p) { margin: .3em 0 }
dt { font-weight: 650 }
dd { margin: 0 0 .5em; margin-inline-start: 1.4em }
blockquote { margin-inline: 0; padding-inline-start: 1.1em; border-inline-start: 3px solid var(--line); color: var(--quiet) }
hr { border: 0; border-top: 1px solid var(--line); margin: 2.5em 0 }
img, video, svg { max-width: 100% }
img, video { height: auto; border-radius: var(--radius) }
:is(main, section) > img { display: block; margin: 0 0 1.15em }
figcaption, caption, small { color: var(--quiet); font-size: .875em }
mark { background: var(--wait-paper); color: var(--wait); padding: 0 .15em }
code, kbd, samp, pre { font-family: var(--mono); font-size: .875em }
code, kbd, samp { background: var(--code); border-radius: 4px; padding: .12em .35em; overflow-wrap: anywhere }
pre {
  background: var(--code); border-radius: var(--radius); padding: .9rem 1.1rem; overflow-x: auto; line-height: 1.55;
  tab-size: 4; text-align: left;
}
pre code { background: none; padding: 0; font-size: 1em; overflow-wrap: normal }
table {
  display: block; width: fit-content; max-width: 100%; overflow-x: auto; border-collapse: collapse; font-size: .9375em;
  font-variant-numeric: tabular-nums;
}
th, td {
  text-align: start; vertical-align: top; padding: .5rem 0; padding-inline-end: 1.5rem; border-bottom: 1px solid var(--line);
}
th { font-weight: 650; white-space: nowrap }
thead th { color: var(--quiet); font-size: .875em; border-bottom-color: var(--field) }
:is(th, td):last-child { padding-inline-end: 0 }
[align="right"] { text-align: right }
[align="center"] { text-align: center }
svg.chart {
  --air: 0; --units: 640; display: block; direction: ltr; overflow: visible; max-width: none;
  width: calc(100% + var(--air) * 2px); margin: 1.75rem calc(var(--air) * -1px);
}
svg:is(.adaptive, .dark) { --air: 14 }
svg.broad {
  --units: 1200; height: auto; width: calc(100% * var(--units) / (var(--units) - 2 * var(--air)));
  margin-inline: calc(-100% * var(--air) / (var(--units) - 2 * var(--air)));
}
@media print, (prefers-color-scheme: light) { svg.dark { --air: 0; background: #14181d; border-radius: var(--radius) } }
section { margin: 0 0 2rem }
summary { cursor: pointer; font-weight: 600 }
details[open] > summary { margin-bottom: .75rem }

label { display: block; font-weight: 600; font-size: .9375rem; margin: 0 0 1rem }
label > :is(input, select, textarea) { display: block; margin-top: .3rem; font-weight: 400 }
label:has(> :is([type="checkbox"], [type="radio"])) { font-weight: 400 }
fieldset { border: 1px solid var(--line); border-radius: var(--radius); padding: 1rem 1.1rem; margin: 0 0 1.15em; min-width: 0 }
legend { font-weight: 650; padding: 0 .35rem }
input, select, textarea, button { font: inherit; color: inherit; accent-color: var(--accent) }
input:not([type="checkbox"], [type="radio"], [type="range"], [type="color"], [type="submit"], [type="button"], [type="reset"]),
select, textarea {
  width: 100%; max-width: 100%; min-height: 2.75rem; padding: .5rem .75rem; background: var(--card); color: var(--ink);
  border: 1px solid var(--field); border-radius: var(--radius);
}
textarea { min-height: 6rem; resize: vertical }
:is([type="checkbox"], [type="radio"]) { width: 1.5rem; height: 1.5rem; margin: 0 .5rem 0 0; vertical-align: -.35em }
label > :is([type="checkbox"], [type="radio"]) { display: inline-block; margin-top: 0 }
::placeholder { color: var(--quiet); opacity: 1 }
button, :is([type="submit"], [type="button"], [type="reset"]) {
  min-height: 2.75rem; padding: .5rem 1.1rem; border: 1px solid var(--field); border-radius: var(--radius);
  background: var(--card); color: var(--ink); font-weight: 600; cursor: pointer; touch-action: manipulation;
}
:is(button, input)[type="submit"], button:not([type]), button.primary {
  background: var(--accent); border-color: var(--accent); color: var(--on-accent);
}
:disabled { opacity: .6; cursor: default }
[aria-invalid="true"], :user-invalid { border-color: var(--bad) }

[hidden] { display: none !important }
.quiet { color: var(--quiet) }
.small { font-size: .875rem }

.notice {
  min-height: 100vh; min-height: 100svh; display: grid; place-items: center; padding: max(1rem, env(safe-area-inset-top)) 0;
}
.notice > main { width: 100%; max-width: 32rem; padding: 0 1.25rem }
.notice .card {
  background: var(--card); border: 1px solid var(--line); border-radius: 16px; padding: clamp(1.35rem, 5vw, 2.1rem);
  box-shadow: 0 1px 2px rgb(0 0 0 / .05), 0 16px 40px -24px rgb(0 0 0 / .3);
}
.notice .sign { display: block; width: 2.75rem; height: 2.75rem; margin: 0 0 .9rem; color: var(--quiet) }
.notice .yes .sign { color: var(--good) }
.notice .no .sign { color: var(--bad) }
.notice h1 { font-size: 1.5rem; letter-spacing: -.015em; margin: 0 0 .5rem }
.notice p { margin: .5rem 0; color: var(--quiet) }
.notice strong { color: var(--ink); font-weight: 600 }
.notice .status { margin: 0 0 .35rem; font: 600 .875rem/1.4 var(--mono) }
.notice .cause { color: var(--ink); overflow-wrap: anywhere; white-space: pre-wrap }
.notice ul { list-style: none; padding: 0; margin: 1rem 0 0; border-top: 1px solid var(--line) }
.notice li { margin: 0; border-bottom: 1px solid var(--line) }
.notice li a { display: block; padding: .55rem 0; overflow-wrap: anywhere }
.notice .onward { margin: 1.25rem 0 0 }
.notice .onward a { display: inline-block; padding: .35rem 0; margin-right: 1.25rem }
.notice .message {
  margin: 1rem 0; padding: .875rem 1rem; background: var(--code); border: 1px solid var(--line); border-radius: var(--radius);
  color: var(--ink); font-size: 1.125rem; white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate;
}
.notice .expiry { font-size: .9375rem; font-variant-numeric: tabular-nums }
.notice form { margin: 1.25rem 0 0; display: grid; gap: .75rem }
.notice form label { margin: 0 }
.notice form button {
  min-height: 3.25rem; background: transparent; border: 1.5px solid var(--field); color: var(--ink); overflow-wrap: anywhere;
}
.notice form button.primary { background: var(--good); border-color: var(--good); color: var(--card) }
.notice form button.refuse { border-color: var(--bad); color: var(--bad) }
.notice .note { font-size: .875rem; margin: 1rem 0 0; padding-top: .875rem; border-top: 1px solid var(--line) }
@media (min-width: 26rem) { .notice .pair { grid-template-columns: 1fr 1fr } }

.docs { font-size: 1rem }
.docs > * { max-width: 72rem }
.docs header h1 { color: var(--ink); margin: 1.25rem 0 .35rem; overflow-wrap: anywhere }
.docs header p { margin: .25rem 0 }
.docs > .columns { display: grid; gap: 0 3rem; grid-template-columns: minmax(0, 1fr); padding-bottom: 4rem }
.docs nav { display: none }
.docs main { padding: .5rem 0 0; min-width: 0 }
.docs h2 { margin: 1.5rem 0 .75rem; font-size: 1.25rem }
.docs h3 { font-size: 1rem; margin: 0; display: flex; flex-wrap: wrap; gap: .35rem .6rem; align-items: center }
.docs h3 code { background: none; padding: 0; font-size: 1rem; font-weight: 600 }
.docs .method {
  font: 700 .75rem/1 var(--mono); letter-spacing: .03em; padding: .35rem .5rem; border-radius: 5px; color: var(--link);
  background: color-mix(in srgb, var(--link) 12%, var(--card));
}
.docs .post { color: var(--good); background: var(--good-paper) }
.docs :is(.put, .patch) { color: var(--wait); background: var(--wait-paper) }
.docs .delete { color: var(--bad); background: var(--bad-paper) }
.docs .route {
  background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.15rem clamp(1rem, 3vw, 1.4rem);
  margin: 0 0 1rem; scroll-margin-top: 1rem;
}
.docs .route > p { margin: .6rem 0 0 }
.docs .route table { margin: .9rem 0 0 }
.docs .route > pre, .docs .answer pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .9rem 0 0 }
.docs .try { margin: .9rem 0 0; border-top: 1px solid var(--line); padding-top: .75rem }
.docs .try form { margin: 0 }
.docs .try summary { color: var(--link); padding: .25rem 0; width: fit-content }
.docs .fields { display: grid; gap: .75rem 1rem; grid-template-columns: repeat(auto-fill, minmax(min(15rem, 100%), 1fr)) }
.docs .fields label, .docs .access label { margin: 0 }
.docs .fields .wide { grid-column: 1 / -1 }
.docs .kind { color: var(--quiet); font-weight: 400 }
.docs textarea { font-family: var(--mono); font-size: .875rem }
.docs .send { display: flex; flex-wrap: wrap; gap: .6rem; margin: .9rem 0 0 }
.docs .answer { margin: 1rem 0 0 }
.docs .answer .status { margin: 0; font: 600 .9375rem/1.4 var(--mono); overflow-wrap: anywhere }
.docs .answer .ok { color: var(--good) }
.docs .answer .failed { color: var(--bad) }
.docs .answer pre { max-height: 26rem; overflow: auto }
.docs .access { margin: 1rem 0 1.25rem; max-width: 30rem }
@media (min-width: 64rem) {
  .docs > .columns { grid-template-columns: 15rem minmax(0, 1fr) }
  .docs nav { display: block; position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto; padding: 2rem 0 }
  .docs nav ul { list-style: none; margin: 0; padding: 0 }
  .docs nav li { margin: 0 }
  .docs nav a {
    display: block; padding: .3rem 0; color: var(--quiet); text-decoration: none; font: .8125rem/1.4 var(--mono);
    overflow-wrap: anywhere;
  }
  .docs nav a:hover { color: var(--link); text-decoration: underline }
}

@media (max-width: 45rem) {
  svg[class*="reflows-"] {
    height: auto; width: calc(100% * var(--units) / (var(--units) - 2 * var(--air)));
    margin-inline: calc(-100% * var(--air) / (var(--units) - 2 * var(--air)));
  }
}
@media (max-width: 36rem) {
  svg[class*="reflows-"] { --units: 360 }
  svg > .wide { display: none }
  svg > .narrow { display: inline }
  .reflows-4 { aspect-ratio: 9/4 } .reflows-5 { aspect-ratio: 9/5 } .reflows-6 { aspect-ratio: 9/6 }
  .reflows-7 { aspect-ratio: 9/7 } .reflows-8 { aspect-ratio: 9/8 } .reflows-9 { aspect-ratio: 9/9 }
  .reflows-10 { aspect-ratio: 9/10 } .reflows-11 { aspect-ratio: 9/11 } .reflows-12 { aspect-ratio: 9/12 }
  .reflows-13 { aspect-ratio: 9/13 } .reflows-14 { aspect-ratio: 9/14 } .reflows-15 { aspect-ratio: 9/15 }
  .reflows-16 { aspect-ratio: 9/16 } .reflows-17 { aspect-ratio: 9/17 } .reflows-18 { aspect-ratio: 9/18 }
  .reflows-19 { aspect-ratio: 9/19 } .reflows-20 { aspect-ratio: 9/20 } .reflows-21 { aspect-ratio: 9/21 }
  .reflows-22 { aspect-ratio: 9/22 } .reflows-23 { aspect-ratio: 9/23 } .reflows-24 { aspect-ratio: 9/24 }
  .reflows-25 { aspect-ratio: 9/25 } .reflows-26 { aspect-ratio: 9/26 } .reflows-27 { aspect-ratio: 9/27 }
  .reflows-28 { aspect-ratio: 9/28 } .reflows-29 { aspect-ratio: 9/29 } .reflows-30 { aspect-ratio: 9/30 }
}
@media (prefers-reduced-motion: no-preference) {
  html { scroll-behavior: smooth }
  a, button { transition: color .12s, background-color .12s, border-color .12s }
  button:active { transform: translateY(1px) }
}
@media (forced-colors: active) { .card, .message, .route, pre, button, input, textarea { border: 1px solid CanvasText } }
@media print {
  :root {
    color-scheme: light; --paper: #fff; --card: #fff; --ink: #000; --quiet: #444; --line: #bbb; --code: #f4f4f4; --link: #000;
  }
  html { font-size: 10.5pt }
  body > * { max-width: none; padding: 0 }
  h1, h2, h3 { break-after: avoid }
  pre, tr, figure, blockquote, img, svg { break-inside: avoid }
  table { display: table; overflow: visible }
  th { white-space: normal }
  :is(th, td) { overflow-wrap: anywhere; min-width: 5em; padding-inline-end: .5rem }
  table:has(:is(th, td):nth-child(9)) :is(th, td) { min-width: 0; font-size: .85em }
  svg:is(.adaptive, .dark) { --air: 0 }
  pre { white-space: pre-wrap }
  a[href^="http"]::after { content: " (" attr(href) ")"; font-size: .85em; overflow-wrap: anywhere }
  svg.dark { background: none; filter: invert(.92) hue-rotate(180deg) }
  .try, .access, .docs nav, button { display: none }
}
}
"""

#: The path contains a hash of the text, so that clients may cache the stylesheet indefinitely.
STYLE_PATH = f"/lang-{crc32(STYLE.encode()):08x}.css"


def style_reply(request: Request) -> Reply | None:
    """The stylesheet as a cacheable reply; ``None`` if the request asks for something else."""
    if request.path != STYLE_PATH or request.method not in ("GET", "HEAD"):
        return None
    fields = [("Cache-Control", "public, max-age=31536000, immutable"), ("X-Content-Type-Options", "nosniff")]
    return Reply(200, "text/css; charset=utf-8", STYLE.encode(), fields)


def source_hash(text: str) -> str:
    """The source of a ``Content-Security-Policy`` that allows this text of a ``style`` or ``script`` element and no other."""
    from base64 import b64encode
    from hashlib import sha256

    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def style_url(request: Request) -> str:
    """The URL of the stylesheet for a page that the request asks for."""
    return beside(request.path, STYLE_PATH[1:])


def beside(path: str, name: str) -> str:
    """The relative URL of ``name`` at the root of the service for a page at ``path``: it stays valid behind a proxy that adds a
    prefix.
    """
    return "../" * (path.count("/") - 1) + name
