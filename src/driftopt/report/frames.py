"""Data frames as files that other programs read."""

from typing import Any

from driftopt.report.escaping import spreadsheet


def csv_of(frame: Any) -> str:
    """A polars DataFrame as CSV in which no text can be taken for a formula."""
    import polars

    safe = polars.col(polars.String).map_elements(spreadsheet, return_dtype=polars.String)
    return frame.with_columns(safe).rename(spreadsheet).write_csv()
