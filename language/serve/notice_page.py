"""The layout of pages with a single message: an error of the service, a decision to make, the outcome of a decision."""

from __future__ import annotations

from language.serve.page_style import STYLE

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="robots" content="noindex">
<title>{title}</title>
<style>{style}</style>
</head>
<body class="notice">
<main>
{card}
</main>
</body>
</html>
"""


def notice_page(title: str, card: str) -> str:
    """The page around ``card``, without scripts; both are HTML."""
    return _PAGE.format(title=title, style=STYLE, card=card)
