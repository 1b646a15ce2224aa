"""The page of the playground, opened in a real browser, and what a user does on it again and again."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer, ThreadingHTTPServer

from playwright.sync_api import Locator, Page, expect

from wasm_abi.playground.layout import HERE

EXAMPLES = re.findall(r'file: "(\S+)", title: "([^"]+)"', (HERE / "examples.js").read_text(encoding="utf-8"))


@contextmanager
def serving(running: ThreadingHTTPServer | HTTPServer) -> Iterator[str]:
    """The address of a server while it answers."""
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}/"
    finally:
        running.shutdown()
        thread.join()
        running.server_close()


def open_page(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("html[data-ready=true]")).to_be_attached(timeout=60_000)


def run(page: Page, source: str, button: str = "Run") -> Locator:
    """Runs a program; answers where its lines stand."""
    page.locator("#source").fill(source)
    page.get_by_role("button", name=button, exact=True).click()
    expect(page.locator("#outcome")).not_to_have_text(re.compile("…$"), timeout=60_000)
    return page.locator("#lines")


def lend(page: Page, **hooks: str | bool) -> None:
    page.get_by_role("tab", name="Host").click()
    for name, value in hooks.items():
        control = page.locator(f"#hooks [name={name}]")
        if isinstance(value, bool):
            control.set_checked(value)
        else:
            control.select_option(value)


#: Whatever a page may try: none of it may run, load or go anywhere.
HOSTILE = """<!doctype html><title>T</title><style>h1 \\{color: rgb(1, 2, 3)}</style>
<h1 style="margin: 7px" onclick="parent.document.title = 'clicked'">Hi</h1>
<script>parent.document.title = "taken"</script><img src="x" onerror="parent.document.title = 'taken'">
<base href="https://elsewhere.example/"><meta http-equiv="refresh" content="0; url=https://elsewhere.example/">
<link rel="stylesheet" href="https://elsewhere.example/"><iframe src="https://elsewhere.example/"></iframe>
<a href="pens/1">pen</a> <a href="https://elsewhere.example/">away</a>
<form action="/found"><input name="q" value="a b"><button>Find</button></form>
<form method="post" action="/sold"><input type="hidden" name="pen" value="é"><button>Buy</button></form>"""
SERVING = f"""require serve(8080)
let PAGE be `{HOSTILE}`

serve on 8080
    route "GET /"
        print("printed")
        give html(PAGE)
    route "GET /plain"
        give html("<h1>Plain</h1>")
    route "GET /pens/:id"
        give html(`<h1>Pen {{params.id}}</h1>`)
    route "GET /found"
        give html(`<h1>Found {{query.q}}</h1>`)
    route "POST /sold"
        give html(`<h1>Sold {{request.form.pen}}</h1>`)
    route "POST /json"
        give {{"a": request.json.a, "header": request.headers["x-a"]}}
    route "GET /away"
        give redirect("/pens/2")
    route "GET /bytes"
        give binary(bytes([255, 0]), "image/png")
"""


def send(page: Page, path: str, method: str = "GET") -> Locator:
    page.get_by_role("tab", name="Request").click()
    page.get_by_label("Method").select_option(method)
    page.get_by_label("Path").fill(path)
    page.get_by_role("button", name="Send").click()
    status = page.locator("#reply-status")
    expect(status).not_to_have_text("Waiting…", timeout=60_000)
    return status
