"""A real browser for the tests: Chromium of the system, driven by Playwright.

Not installed, it skips its tests by name; where ``CI`` is ``true`` it fails them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.servers import missing

WIDE = (1200, 780)
NARROW = (390, 780)


@contextmanager
def chromium(*switches: str) -> Iterator[Browser]:
    """The browser, which the tests of one file share, with more ``switches`` of its command line. Nothing is downloaded."""
    command = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if command is None:
        missing("Chromium", "chromium")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=command,
            # The superuser has no sandbox to give; the pages are our own.
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *switches],
        )
        yield browser
        browser.close()


class Complaints(list[str]):
    """What the browser found wrong: errors of scripts, refused resources, answers that are errors of the server."""

    def watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.append(f"script: {error}"))
        page.on("console", lambda message: self.append(f"console: {message.text}") if message.type == "error" else None)
        page.on("response", lambda answer: self.append(f"{answer.status} {answer.url}") if answer.status >= 500 else None)


@contextmanager
def window(
    browser: Browser, size: tuple[int, int] = WIDE, *, dark: bool = False, scripts: bool = True, scale: float = 1
) -> Iterator[tuple[BrowserContext, Page, Complaints]]:
    """A new profile with one page."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        java_script_enabled=scripts,
        device_scale_factor=scale,
        locale="en-GB",
    )
    context.set_default_timeout(15_000)
    page = context.new_page()
    complaints = Complaints()
    complaints.watch(page)
    try:
        yield context, page, complaints
    finally:
        context.close()


def faults_of(page: Page) -> list[str]:
    """What people with other eyes or hands would stumble over on this page; nothing where all is well.

    Text needs the contrast of WCAG 2.2 AA (4.5, or 3 where it is large), fields and buttons a name, targets 24 pixels unless
    they stand in a line of text, the page a language, a title, one ``main`` and one ``h1``; nothing may be wider than the
    window.
    """
    found = page.evaluate(_FAULTS)
    assert isinstance(found, list)
    return found


_FAULTS = r"""
() => {
  const faults = [];
  const shown = (e) => {
    const box = e.getBoundingClientRect(), style = getComputedStyle(e);
    return box.width > 1 && box.height > 1 && box.bottom > 0 && style.visibility === "visible" && style.clipPath === "none";
  };
  const dot = Object.assign(document.createElement("canvas"), {width: 1, height: 1});
  const canvas = dot.getContext("2d", {willReadFrequently: true});
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const ground = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    return layers.reduceRight((under, top) => over(top, under), dark ? [18, 18, 18, 1] : [255, 255, 255, 1]);
  };
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const name = (e) => `<${e.localName}${e.id ? "#" + e.id : ""}> ${(e.textContent || e.name || "").trim().slice(0, 30)}`;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement, style = getComputedStyle(e);
    if (!texts.currentNode.data.trim() || !shown(e) || e.closest("script, style, noscript, title, desc, :disabled")) continue;
    const color = style.getPropertyValue(e.namespaceURI.endsWith("svg") ? "fill" : "color");
    const below = ground(e), ink = over(rgba(color), below), [a, b] = [light(ink), light(below)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 600);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < (large ? 3 : 4.5)) faults.push(`contrast ${contrast.toFixed(2)}: ${name(e)}`);
  }
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea, button, a[href], img")) {
    const label = e.getAttribute("aria-label") ?? (e.labels?.[0]?.textContent || e.textContent || e.alt);
    if (e.localName === "img" ? !e.hasAttribute("alt") : !label?.trim() && !e.querySelector("img[alt]:not([alt=''])"))
      faults.push(`no name: ${name(e)}`);
    const box = e.getBoundingClientRect(), inline = getComputedStyle(e).display === "inline";
    if (e.localName !== "img" && shown(e) && !inline && (box.width < 24 || box.height < 24))
      faults.push(`small target ${box.width.toFixed()}x${box.height.toFixed()}: ${name(e)}`);
  }
  for (const [what, some] of [["h1", 1], ["main", 1]])
    if (document.querySelectorAll(what).length !== some) faults.push(`not one ${what}`);
  if (!document.documentElement.lang) faults.push("no language");
  if (!document.title.trim()) faults.push("no title");
  const width = document.documentElement.scrollWidth;
  if (width > innerWidth) faults.push(`wider than the window: ${width}`);
  return faults;
}
"""
