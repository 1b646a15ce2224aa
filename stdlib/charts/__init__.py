"""Charts: SVG from data, the same bytes for the same data; and a content node that is a chart in HTML and a table in
Markdown.
"""

from __future__ import annotations

from language.registry import Family
from stdlib.content_nodes import ContentNode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from stdlib.content_nodes import Drawn

family = Family("charts", "Charts")


@family.builtin("chart_svg(kind, data, opts?)")
def chart_svg(kind: Any, data: Any, opts: Any = None) -> str:
    """The chart of data as SVG text: the same bytes for the same data, without scripts or external resources.

    | Kind | Data |
    | --- | --- |
    | `bar`, `line`, `area` | map of label to number, list of numbers; for `line` and `area` also list of `[x, y]` |
    | `scatter` | list of `[x, y]` |
    | `pie`, `donut` | map of label to number |
    | `waterfall` | map of label to the step up or down; the running total is computed |
    | `histogram` | list of numbers, or the `{counts, edges}` of `histogram` |
    | `boxplot` | map of label to list of numbers, list of numbers |
    | `heatmap` | list of rows, each a list of numbers |

    All but `histogram` also take a list of maps; the options `x` and `y` name its fields (`y` may be a list of them: a series
    each), and for `heatmap` `value` the field of the number. `nothing` is a gap.

    Options of all kinds: `title`, `x_label`, `y_label`, `width` (640), `height` (360), `colors` (a list like `["#0072b2"]`),
    `legend` (a bool), `background` (a color), `theme` (`"light"`, `"dark"`). Besides: `stack` (`bar`, `area`); `x_labels`,
    `y_labels`, `scale` (`"auto"`, `"sequential"`, `"diverging"`), `center` (`heatmap`); `bins`, a number or a list of edges
    (`histogram`); `total`, `true` or its label (`waterfall`).

    Colors are never used twice: more than 8 series or slices need the option `colors`. An unknown option, an infinite number or
    data of the wrong shape is an error that says so.
    """
    return _chart("chart_svg", kind, data, opts).svg()


@family.builtin("chart(kind, data, opts?)")
def chart(kind: Any, data: Any, opts: Any = None) -> ContentNode:
    """The chart of `chart_svg` as a node for `page`: the drawing in HTML, a table of the data in Markdown, the data in JSON.

    `chart("bar", {"jan": 2, "feb": 3}, {"title": "Sales"})`
    """
    return ContentNode("chart", {}, _chart("chart", kind, data, opts))


def _chart(who: str, kind: Any, data: Any, opts: Any) -> Drawn:
    """The chart with its data and options validated: drawing it raises no errors."""
    from stdlib.charts.options import read_options

    options = read_options(who, kind, opts)
    match kind:
        case "histogram":
            from stdlib.charts.histogram import Histogram

            return Histogram(options, data)
        case "boxplot":
            from stdlib.charts.boxplot import BoxPlot

            return BoxPlot(options, data)
        case "heatmap":
            from stdlib.charts.heatmap import HeatMap

            return HeatMap(options, data)
    from stdlib.charts.data import read_table

    table = read_table(options, data)
    match kind:
        case "bar":
            from stdlib.charts.bars import BarChart

            return BarChart(options, table)
        case "scatter":
            from stdlib.charts.scatter import ScatterChart

            return ScatterChart(options, table)
        case "waterfall":
            from stdlib.charts.waterfall import WaterfallChart

            return WaterfallChart(options, table)
        case "pie" | "donut":
            from stdlib.charts.slices import PieChart

            return PieChart(options, table)
        case "line":
            from stdlib.charts.lines import LineChart

            return LineChart(options, table)
        case _:
            from stdlib.charts.lines import AreaChart

            return AreaChart(options, table)
