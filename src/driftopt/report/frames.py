"""Data frames, and the files that other programs read."""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from driftopt.packages import package
from driftopt.report.escaping import spreadsheet


def parquet_of(frame: Any) -> bytes:
    """A polars DataFrame as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def csv_of(frame: Any) -> str:
    """A polars DataFrame as CSV in which a spreadsheet takes no text for a formula."""
    import polars

    safe = polars.col(polars.String).map_elements(spreadsheet, return_dtype=polars.String)
    return frame.with_columns(safe).rename(spreadsheet).write_csv()


def polars_frame(columns: Mapping[str, Any], what: str) -> Any:
    """Columns as a polars DataFrame; without polars, the error names `what`.

    A column may hold None. A column with numbers and words becomes words.
    """
    polars = package("polars", "report", what)
    plain = {
        name: list(values) if np.asarray(values).dtype == object else values
        for name, values in columns.items()
    }
    return polars.DataFrame([polars.Series(name, values, strict=False) for name, values in plain.items()])


def pandas_frame(columns: Mapping[str, Any], what: str) -> Any:
    """Columns as a pandas DataFrame, made without polars and pyarrow."""
    return package("pandas", None, what).DataFrame(dict(columns))
