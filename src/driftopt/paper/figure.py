"""The paper's figure: the objective over oracle queries, one panel an instance, bands of one deviation."""

from pathlib import Path

from driftopt.paper.summary import Summary, title
from driftopt.runtime.files import write_whole

# Okabe and Ito's colours, which readers with any colour vision can tell apart.
COLOURS = {
    "zo-co": "#999999",
    "zo-sph": "#56B4E9",
    "zo-ga": "#009E73",
    "zo-og": "#E69F00",
    "zo-o2nc-2pt": "#D55E00",
    "zo-o2nc-1pt": "#0072B2",
    "auto": "#CC79A7",
}
SPARE = ("#D55E00", "#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#999999", "#8C6D31")


def colour(method: str, position: int = 0) -> str:
    """A method's colour; an unknown one takes the next of the palette."""
    return COLOURS.get(method, SPARE[position % len(SPARE)])


def draw(summary: Summary, folder: Path) -> list[Path]:
    """figure_<experiment>.png and .pdf in the folder."""
    import io

    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter

    experiment = summary.experiment
    count = len(experiment.instances)
    columns = 2 if count > 1 else 1
    lines = -(-count // columns)
    with pyplot.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = pyplot.subplots(
            lines, columns, figsize=(4.6 * columns, 3.1 * lines + 0.7), squeeze=False, layout="constrained"
        )
        for panel in axes.ravel()[count:]:
            panel.set_visible(False)
        for axis, instance in zip(axes.ravel(), experiment.instances, strict=False):
            for position, method in enumerate(summary.methods):
                curve, shade = summary.curves[instance, method], colour(method, position)
                front = method.startswith("zo-o2nc")
                style = {"color": shade, "linewidth": 1.9 if front else 1.3, "zorder": 3 if front else 2}
                axis.plot(curve.queries, curve.mean, label=title(method), **style)
                axis.fill_between(curve.queries, curve.low, curve.high, color=shade, alpha=0.13, linewidth=0)
            known = summary.best_known[instance]
            axis.axhline(known, color="black", linewidth=0.8, linestyle=(0, (4, 3)))
            axis.annotate(
                f"best known {known:.3f}".replace("-", "−"),
                (1, known),
                xycoords=("axes fraction", "data"),
                xytext=(-2, -3),
                textcoords="offset points",
                ha="right",
                va="top",
                fontsize=7.5,
            )
            axis.set_title(f"{experiment.instance_word} {instance}", fontsize=10, loc="left")
            axis.set_xlim(0, experiment.budget)
            axis.set_ylim(*limits(summary, instance))
            axis.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v / 1000:g}k" if v else "0"))
            axis.grid(alpha=0.25, linewidth=0.6)
        figure.supxlabel("oracle queries", fontsize=10)
        figure.supylabel(summary.objective.title.lower(), fontsize=10)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 4), frameon=False)
        if experiment.quick or not experiment.real:
            words = " · ".join(
                ["quick run: fewer seeds and configurations"] * experiment.quick
                + [f"data: {experiment.provenance.source}"]
            )
            figure.text(0.995, 0.005, words, ha="right", va="bottom", fontsize=7, color="#666666")
        written: list[Path] = []
        for kind, metadata in (("png", {"Software": None}), ("pdf", {"CreationDate": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=160, metadata=metadata)
            written.append(folder / f"figure_{experiment.name}.{kind}")
            write_whole(written[-1], buffer.getvalue())
        pyplot.close(figure)
    return written


def limits(summary: Summary, instance: str) -> tuple[float, float]:
    """From below the best known value to a little above the common start: what blows up leaves the panel."""
    start = max(float(summary.curves[instance, method].mean[0]) for method in summary.methods)
    known = summary.best_known[instance]
    room = start - known
    return known - 0.1 * room, start + 0.12 * room
