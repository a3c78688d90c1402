"""Traces as tables: CSV, also compressed, or Parquet; columns checked by name, cells by type.

A table is read from a file, from standard input (`-`), or from a pipe (`<(...)`). The format of a
file follows from its name, that of a pipe from its first bytes.
"""

import codecs
import csv
import gzip
import io
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, TypeVar

from moorage.api import quantity
from moorage.app.input_files import STDIN, read_input, title_of
from moorage.config.field_errors import InputError
from moorage.config.plugin_catalogue import closest_name, did_you_mean

T = TypeVar("T")

MOST_PROBLEMS = 10
"""How many faults of one table are reported; more would not help."""
NO_FILE: Final = "no such file"
NOT_UTF_8: Final = "not in UTF-8: save it as CSV in UTF-8"
_SEPARATORS: Final = frozenset(";\t|")
MOST_UNPACKED: Final = 1 << 30
"""How many bytes of a compressed table are read; a plain one is as large as its file."""
_GZIP: Final = b"\x1f\x8b"
_PARQUET: Final = b"PAR1"


class _Source(NamedTuple):
    """Where a table is read from: a file, or the bytes of a pipe."""

    title: str
    content: Path | bytes
    is_gzip: bool
    is_parquet: bool

    def open(self) -> IO[bytes]:
        content = self.content
        return io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")


def _source(path: str | Path) -> _Source:
    file = Path(path)
    if str(path) == STDIN or (file.exists() and not (file.is_file() or file.is_dir())):
        content = read_input(path)
        starts = content.startswith
        return _Source(title_of(path), content, starts(_GZIP), starts(_PARQUET))
    if not file.is_file():
        raise InputError([f"{file}: {NO_FILE}"])
    return _Source(str(file), file, file.suffix == ".gz", file.suffix == ".parquet")


class Row:
    """One row: cells by column, and the place to name when one is wrong."""

    __slots__ = ("_cells", "place")

    def __init__(self, cells: Mapping[str, str], place: str) -> None:
        self._cells = cells
        self.place = place

    def text(self, column: str) -> str:
        """The text of a cell; empty if the column is missing."""
        return (self._cells.get(column) or "").strip()

    def number(self, column: str, default: float | None = None, least: float = 0.0) -> float:
        """A number, not below `least`."""
        found = self.optional_number(column, least)
        if found is not None:
            return found
        if default is None:
            raise self.fault(column, "is empty")
        return default

    def optional_number(self, column: str, least: float = 0.0) -> float | None:
        """A number, not below `least`; None if the cell is empty."""
        text = self.text(column)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            raise self.fault(column, f"{text!r} is not a number") from None
        if not math.isfinite(value):
            raise self.fault(column, f"{text!r} is not a finite number")
        if value < least:
            what = "negative" if least == 0 else f"less than {least:g}"
            raise self.fault(column, f"{text} is {what}")
        return value

    def whole(self, column: str, default: int = 0, least: int = 0) -> int:
        """A whole number, not below `least`."""
        value = self.number(column, default, least)
        if value != int(value):
            raise self.fault(column, f"{self.text(column)} is not a whole number")
        return int(value)

    def quantity(self, column: str) -> str:
        """A Kubernetes quantity, not negative; empty if the cell is."""
        text = self.text(column)
        if not text:
            return ""
        try:
            amount = quantity.parse(text)
        except quantity.QuantityError as error:
            raise self.fault(column, str(error)) from None
        if amount.milli_value < 0:
            raise self.fault(column, f"{text} is negative")
        return text

    def pairs(self, column: str) -> dict[str, str]:
        """`k=v;k=v` as a mapping."""
        found: dict[str, str] = {}
        for part in filter(None, (part.strip() for part in self.text(column).split(";"))):
            key, equals, value = part.partition("=")
            if not (equals and key.strip()):
                raise self.fault(column, f"{part!r} is not key=value")
            found[key.strip()] = value.strip()
        return found

    def fault(self, column: str, problem: str) -> InputError:
        """An error that names the row and the column."""
        return InputError([f"{self.place}: {column}: {problem}"])


def read_table(
    path: str | Path,
    columns: Collection[str],
    what: str,
    names: Mapping[str, str] | None = None,
) -> Iterator[Row]:
    """The rows of a table that may have these columns, and no others.

    `names` maps our column names to the table's; with it, other columns are ignored.
    """
    source = _source(path)
    file = source.title
    header, rows = _parquet(source) if source.is_parquet else _csv(source)
    if names is not None:
        return _renamed(file, header, rows, names)
    unknown = [name for name in header if name not in columns]
    if unknown:
        raise InputError(
            f"{file}: unknown column {name!r}{did_you_mean(closest_name(name, columns))}"
            f" ({what} have: {', '.join(columns)})"
            for name in unknown
        )
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise InputError(f"{file}: column {name!r} is there twice" for name in repeated)
    return rows


def _renamed(
    file: str, header: list[str], rows: Iterator[Row], names: Mapping[str, str]
) -> Iterator[Row]:
    missing = [name for name in names.values() if name not in header]
    if missing:
        raise InputError(
            f"{file}: no column {name!r}{did_you_mean(closest_name(name, header))}"
            for name in missing
        )
    return (
        Row({ours: row.text(theirs) for ours, theirs in names.items()}, row.place) for row in rows
    )


def read_each(rows: Iterator[Row], read: Callable[[Row], T]) -> list[T]:
    """Every row, read; the problems of the first few bad rows are raised together."""
    found: list[T] = []
    problems: list[str] = []
    for row in rows:
        try:
            found.append(read(row))
        except InputError as error:
            problems += error.problems
            if len(problems) >= MOST_PROBLEMS:
                problems.append("... and perhaps more")
                break
    if problems:
        raise InputError(problems)
    return found


def _csv(source: _Source) -> tuple[list[str], Iterator[Row]]:
    file = source.title
    try:
        with _open(source) as stream:
            header = next(csv.reader(stream), None)
    except UnicodeDecodeError:
        raise InputError([f"{file}: {NOT_UTF_8}"]) from None
    except (OSError, csv.Error) as error:
        raise InputError([f"{file}: not a CSV file: {error}"]) from None
    if not header:
        raise InputError([f"{file}: is empty; its first line names the columns"])
    names = [name.strip().removeprefix("\ufeff") for name in header]
    if len(names) == 1 and (found := sorted(_SEPARATORS & set(names[0]))):
        raise InputError([f"{file}: columns are separated by {found[0]!r}: use commas"])
    return names, _csv_rows(source, names)


def _csv_rows(source: _Source, header: list[str]) -> Iterator[Row]:
    file, width = source.title, len(header)
    with _open(source) as stream:
        reader = csv.reader(stream)
        next(reader)
        try:
            for cells in reader:
                if not cells:
                    continue
                place = f"{file}:{reader.line_num}"
                if len(cells) > width:
                    raise InputError([f"{place}: {len(cells)} cells for {width} columns"])
                yield Row(dict(zip(header, cells, strict=False)), place)
        except UnicodeDecodeError:
            raise InputError([f"{file}:{reader.line_num}: {NOT_UTF_8}"]) from None
        except (csv.Error, OSError, EOFError) as error:
            raise InputError([f"{file}:{reader.line_num}: not CSV: {error}"]) from None


def _open(source: _Source) -> IO[str]:
    if source.is_gzip:
        unpacked = io.BufferedReader(_Unpacked(source.open(), source.title))
        return io.TextIOWrapper(unpacked, encoding="utf-8", newline="")
    with source.open() as stream:
        is_utf_16 = stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    encoding = "utf-16" if is_utf_16 else "utf-8"
    return io.TextIOWrapper(source.open(), encoding=encoding, newline="")


class _Unpacked(io.RawIOBase):
    """What a compressed file holds, up to a limit: a few bytes may hold any number of them."""

    def __init__(self, packed: IO[bytes], title: str) -> None:
        self._file = gzip.GzipFile(fileobj=packed)
        self._packed, self._title, self._left = packed, title, MOST_UNPACKED

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._file.read(len(buffer))
        buffer[: len(found)] = found
        self._left -= len(found)
        if self._left < 0:
            most = f"holds more than {MOST_UNPACKED:,} bytes: decompress it first"
            raise InputError([f"{self._title}: {most}"])
        return len(found)

    def close(self) -> None:
        self._file.close()
        self._packed.close()
        super().close()


def _parquet(source: _Source) -> tuple[list[str], Iterator[Row]]:
    file = source.title
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        message = f"{file}: reading Parquet needs pyarrow: pip install 'moorage[parquet]'"
        raise InputError([message]) from None
    try:
        with source.open() as stream:
            table = parquet.read_table(stream)
    except (ArrowException, OSError) as error:
        raise InputError([f"{file}: not a Parquet file: {error}"]) from None
    return table.column_names, _parquet_rows(file, table)


def _parquet_rows(file: str, table: Any) -> Iterator[Row]:
    number = 0
    for batch in table.to_batches():
        for cells in batch.to_pylist():
            number += 1
            texts = {name: "" if value is None else str(value) for name, value in cells.items()}
            yield Row(texts, f"{file}: row {number}")
