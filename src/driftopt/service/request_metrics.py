"""What the server did, as Prometheus reads it."""

from collections import Counter

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class RequestMetrics:
    """Requests by route and status, and how long they took. Names of studies are not among the labels."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[tuple[str, str], float] = {}
        self._buckets: dict[tuple[str, str], list[int]] = {}

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """One request was answered."""
        self._requests[method, route, status] += 1
        where = (method, route)
        self._seconds[where] = self._seconds.get(where, 0.0) + seconds
        buckets = self._buckets.setdefault(where, [0] * (len(_BUCKETS) + 1))
        buckets[next((i for i, most in enumerate(_BUCKETS) if seconds <= most), len(_BUCKETS))] += 1

    def text(self, gauges: dict[str, tuple[str, float]]) -> str:
        """Everything as text; `gauges` are numbers of this moment, each with its help."""
        lines = [
            "# HELP driftopt_requests_total Requests answered.",
            "# TYPE driftopt_requests_total counter",
        ]
        for (method, route, status), n in sorted(self._requests.items()):
            lines.append(f'driftopt_requests_total{{{_labels(method, route)},status="{status}"}} {n}')
        name = "driftopt_request_seconds"
        lines += [f"# HELP {name} How long answers took.", f"# TYPE {name} histogram"]
        for (method, route), buckets in sorted(self._buckets.items()):
            labels, so_far = _labels(method, route), 0
            for most, n in zip([*map(repr, _BUCKETS), "+Inf"], buckets, strict=True):
                so_far += n
                lines.append(f'{name}_bucket{{{labels},le="{most}"}} {so_far}')
            lines.append(f"{name}_sum{{{labels}}} {self._seconds[method, route]!r}")
            lines.append(f"{name}_count{{{labels}}} {so_far}")
        for gauge, (words, value) in gauges.items():
            lines += [f"# HELP {gauge} {words}", f"# TYPE {gauge} gauge", f"{gauge} {value!r}"]
        return "\n".join(lines) + "\n"


def _labels(method: str, route: str) -> str:
    """Routes are those of the program, methods those of HTTP: nothing in them needs escaping."""
    return f'method="{method}",route="{route}"'
