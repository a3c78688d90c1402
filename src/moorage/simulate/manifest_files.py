"""Manifests from files and folders: every object with the place it was read from."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from moorage.config import yaml_documents
from moorage.config.field_errors import ConfigError, InputError


class Manifest(NamedTuple):
    """One object as written, and where."""

    raw: dict[str, Any]
    file: str
    document: int
    item: int | None = None

    @property
    def place(self) -> str:
        inside = "" if self.item is None else f", items[{self.item}]"
        return f"{self.file}, document {self.document}{inside}"

    @property
    def kind(self) -> str:
        return str(self.raw.get("kind") or "")

    @property
    def name(self) -> str:
        metadata = self.raw.get("metadata")
        return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""


def read_manifests(paths: Iterable[str | Path]) -> list[Manifest]:
    """Every object of files and folders, lists taken apart; all problems at once."""
    found: list[Manifest] = []
    problems: list[str] = []
    for path in paths:
        for file in _files(Path(path), problems):
            try:
                found.extend(_objects(file))
            except InputError as error:
                problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    return found


def _files(path: Path, problems: list[str]) -> list[Path]:
    if path.is_dir():
        files = sorted(
            f for f in path.rglob("*") if f.suffix in yaml_documents.SUFFIXES and f.is_file()
        )
        if not files:
            problems.append(
                f"{path}: no manifests in this folder ({', '.join(yaml_documents.SUFFIXES)})"
            )
        return files
    if not path.is_file():
        problems.append(f"{path}: no such file or folder")
        return []
    return [path]


def _objects(file: Path) -> Iterator[Manifest]:
    for number, document in enumerate(_documents(file), start=1):
        if document is None:
            continue
        if not isinstance(document, dict):
            kind = type(document).__name__
            raise InputError([f"{file}, document {number}: not an object but a {kind}"])
        yield from _items(document, str(file), number)


def _documents(file: Path) -> list[Any]:
    text = file.read_bytes()
    if file.suffix == ".json":
        try:
            return [msgspec.json.decode(text)]
        except msgspec.DecodeError as error:
            raise InputError([f"{file}, document 1: not JSON: {error}"]) from None
    try:
        return yaml_documents.read_values(text, source=str(file))
    except ConfigError as error:
        raise InputError([str(error)]) from None


def _items(document: dict[str, Any], file: str, number: int) -> Iterator[Manifest]:
    kind = str(document.get("kind") or "")
    items = document.get("items")
    if not kind.endswith("List") or not isinstance(items, list):
        yield Manifest(document, file, number)
        return
    inherited = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")}
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise InputError([f"{file}, document {number}, items[{index}]: not an object"])
        yield Manifest({**(inherited if kind != "List" else {}), **item}, file, number, index)
