"""Results as a table: one row per configuration and seed, one column per KPI; CSV or Parquet."""

import csv
import io
from pathlib import Path
from typing import Any

import msgspec

from moorage.app.output_files import write_private
from moorage.config.field_errors import InputError
from moorage.kpi.summary import flat
from moorage.simulate.comparison import Comparison

SUFFIXES = (".csv", ".parquet", ".json")


def check_target(path: str) -> None:
    """Raise an InputError, before anything is run, if the file could not be written."""
    file = Path(path)
    if file.suffix not in SUFFIXES:
        raise InputError([f"{path}: results are written as {', '.join(SUFFIXES)}"])
    if not file.absolute().parent.is_dir():
        raise InputError([f"{path}: no such folder"])
    if file.suffix == ".parquet":
        _pyarrow(path)


def write_results(found: Comparison, path: str) -> None:
    """Write every run's KPIs atomically."""
    file = Path(path)
    if file.suffix == ".json":
        content = msgspec.json.format(msgspec.json.encode(found.as_data()))
    elif file.suffix == ".parquet":
        content = _parquet(found, path)
    else:
        content = csv_text(found).encode()
    write_private(file, content)


def rows(found: Comparison) -> tuple[list[str], list[dict[str, str | float]]]:
    """Columns and rows."""
    listed: list[dict[str, str | float]] = []
    columns: dict[str, None] = {"configuration": None, "seed": None}
    for outcome in found.configurations:
        for result in outcome.seeds:
            kpis = dict(flat(result.kpis))
            columns |= dict.fromkeys(kpis)
            listed.append({"configuration": outcome.name, "seed": result.seed, **kpis})
    return list(columns), listed


def csv_text(found: Comparison) -> str:
    """A line per run, with a header: for spreadsheets."""
    columns, listed = rows(found)
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(listed)
    return text.getvalue()


def _parquet(found: Comparison, path: str) -> bytes:
    pyarrow = _pyarrow(path)
    columns, listed = rows(found)
    table = pyarrow.table({name: [row.get(name) for row in listed] for name in columns})
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink)
    return bytes(sink.getvalue())


def _pyarrow(path: str) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        message = f"{path}: writing Parquet needs pyarrow: pip install 'moorage[parquet]'"
        raise InputError([message]) from None
    return pyarrow
