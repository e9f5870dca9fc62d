"""The curves as a picture: the objective over oracle queries, one panel an instance, with bands."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from driftopt.report.curves import Panel, Style
from driftopt.report.escaping import plot as plain
from driftopt.report.numbers import fixed

BAND = 0.13  # the opacity of a band
# Metadata without date and library version, so that the same results give the same bytes.
METADATA: Mapping[str, dict[str, Any]] = {"png": {"Software": None}, "pdf": {"CreationDate": None}}


def draw(
    panels: Sequence[Panel],
    styles: Mapping[str, Style],
    titles: Mapping[str, str],
    *,
    quantity: str,
    budget: int,
    remark: str = "",
    front: Sequence[str] = (),
) -> dict[str, bytes]:
    """The picture as {"png": …, "pdf": …}; methods in `front` have thicker lines, in front of the others."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure  # not pyplot, whose state belongs to the user
    from matplotlib.ticker import FuncFormatter

    thousands = FuncFormatter(lambda v, _: f"{v / 1000:g}k" if abs(v) >= 1000 else f"{v:g}")

    columns = 2 if len(panels) > 1 else 1
    lines = -(-len(panels) // columns)
    # Type 42: publishers refuse matplotlib's Type 3 fonts.
    spines: Any = {"axes.spines.top": False, "axes.spines.right": False}
    with rc_context({"pdf.fonttype": 42, "font.size": 9, **spines}):
        figure = Figure(figsize=(4.6 * columns, 3.1 * lines + 0.7), layout="constrained")
        axes = figure.subplots(lines, columns, squeeze=False)
        for axis in axes.ravel()[len(panels) :]:
            axis.set_visible(False)
        for axis, panel in zip(axes.ravel(), panels, strict=False):
            for method, curve in panel.curves.items():
                style = styles[method]
                axis.plot(
                    curve.queries,
                    curve.mean,
                    label=plain(titles[method]),
                    color=style.colour,
                    linestyle=(0, tuple(map(float, style.dash.split()))) if style.dash else "-",
                    linewidth=1.9 if method in front else 1.3,
                    zorder=3 if method in front else 2,
                    marker=style.marker,
                    markersize=3.5,
                    markevery=max(1, len(curve.queries) // 6),
                )
                axis.fill_between(
                    curve.queries, curve.low, curve.high, color=style.colour, alpha=BAND, linewidth=0
                )
            if panel.best is not None:
                axis.axhline(panel.best, color="black", linewidth=0.8, linestyle=(0, (4, 3)))
                axis.annotate(
                    f"best known {fixed(panel.best, 3)}",
                    (1, panel.best),
                    xycoords=("axes fraction", "data"),
                    xytext=(-2, -3),
                    textcoords="offset points",
                    ha="right",
                    va="top",
                    fontsize=7.5,
                )
            axis.set_title(plain(panel.title), fontsize=10, loc="left")
            axis.set_xlim(0, budget)
            axis.set_ylim(*panel.limits)
            axis.xaxis.set_major_formatter(thousands)
            axis.grid(alpha=0.25, linewidth=0.6)
        figure.supxlabel("oracle queries", fontsize=10)
        figure.supylabel(plain(quantity), fontsize=10)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 4), frameon=False)
        if remark:
            figure.text(0.995, 0.005, plain(remark), ha="right", va="bottom", fontsize=7, color="#666666")
        written: dict[str, bytes] = {}
        for kind, metadata in METADATA.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=160, metadata=metadata)
            written[kind] = buffer.getvalue()
            figure.set_layout_engine("none")  # keeps the layout for the next format
    return written
