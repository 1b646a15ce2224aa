"""The forms of charts other than the drawing: Markdown tables, and the fields of the node."""

from __future__ import annotations

from language.values.display import display
from stdlib.markdown_escape import escaped_inside_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from stdlib.charts.data import Table
    from stdlib.charts.options import ChartOptions


def head_fields(options: ChartOptions) -> dict[str, Any]:
    """The fields with which every chart begins; unset ones are left out."""
    named = (("title", options.title), ("x_label", options.x_label), ("y_label", options.y_label))
    return {"kind": options.kind, **{name: value for name, value in named if value is not None}}


def markdown(options: ChartOptions, headers: list[str], rows: Iterable[list[Any]]) -> str:
    """The title as a bold line, an empty line, and the table; without a title the table alone."""
    lines = [f"**{escaped_inside_line(options.title)}**", ""] if options.title else []
    lines += [_row(headers), _row(["---"] * len(headers))]
    lines += [_row(row) for row in rows]
    return "\n".join(lines)


def _row(cells: list[Any]) -> str:
    return (
        "| "
        + " | ".join(["" if cell is None else escaped_inside_line(display(cell)).replace("|", "\\|") for cell in cells])
        + " |"
    )


def series_fields(options: ChartOptions, table: Table) -> dict[str, Any]:
    """The fields of a chart of series; a missing number is ``nothing``."""
    series = [{"name": each.name, "points": [[x, value] for x, value in zip(table.xs, each.values)]} for each in table.series]
    fields = {**head_fields(options), "series": series}
    if options.flag("stack"):
        from language.values import TRUE

        fields["stack"] = TRUE
    return fields


def series_markdown(options: ChartOptions, table: Table) -> str:
    """The table of a chart of series: the column of x, and one for each series."""
    headers = [table.x_header, *[each.name or table.y_header for each in table.series]]
    columns = [table.xs, *[each.values for each in table.series]]
    return markdown(options, headers, [list(row) for row in zip(*columns)])
