"""A QR code as a picture in the page."""

from __future__ import annotations

import segno
from markupsafe import Markup


def qr_code(text: str) -> Markup:
    """An SVG of a text: one path, black on white whatever the colours of the page are."""
    code = segno.make(text, error="m", micro=False)
    size = code.symbol_size(border=4)[0]
    runs = []
    for y, row in enumerate(code.matrix_iter(border=4)):
        x = 0
        cells = list(row)
        while x < size:
            start = x
            while x < size and cells[x]:
                x += 1
            if x > start:
                runs.append(f"M{start} {y}h{x - start}v1h-{x - start}z")
            x += 1
    return Markup(
        '<svg class="qr" viewBox="0 0 {size} {size}" role="img" aria-label="QR" shape-rendering="crispEdges">'
        '<path fill="#fff" d="M0 0h{size}v{size}H0z"/><path fill="#000" d="{path}"/></svg>'
    ).format(size=size, path="".join(runs))
