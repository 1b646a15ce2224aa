"""The check for stumbling blocks finds them."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.examples.browsing import faults_of, window

PAGE = '<!DOCTYPE html><html lang="en"><head><title>T</title></head><body><main><h1>T</h1>{}</main></body></html>'


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", None),
        ('<p style="color:#777;background:#fff">gray</p>', "contrast 4.48: <p> gray"),
        ('<p style="color:#767676;background:#fff">gray</p>', None),
        ('<p style="color:#777;background:#fff;font-size:24px">gray</p>', None),
        ('<p style="color:rgb(0 0 0/.5);background:#fff">veiled</p>', "contrast 4.00: <p> veiled"),
        ('<svg width="90" height="30"><text y="20" fill="#bbb">drawn</text></svg>', "contrast 1.92: <text> drawn"),
        ('<input style="height:30px" name="who">', "no name: <input> who"),
        ('<label>Who<input style="height:30px" name="who"></label>', None),
        ('<img src="data:,">', "no name: <img> "),
        ('<button style="padding:0;width:20px;height:20px">x</button>', "small target 20x20: <button> x"),
        ('<div style="width:3000px">wide</div>', "wider than the window: 3008"),
        ("<h1>Again</h1>", "not one h1"),
    ],
)
def test_faults_are_found(browser: Browser, content: str, fault: str | None) -> None:
    with window(browser) as (_, page, _):
        page.set_content(PAGE.format(content))
        assert faults_of(page) == ([] if fault is None else [fault])
