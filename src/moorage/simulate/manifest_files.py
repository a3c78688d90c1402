"""Manifests from files, folders and standard input: every object with its place."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import NoneType
from typing import Any, Final, NamedTuple

from moorage.app import input_files
from moorage.config.field_errors import InputError
from moorage.simulate import folder_contents
from moorage.simulate.folder_contents import SUFFIXES
from moorage.simulate.manifest_texts import documents_of

_EMPTY: Final = "empty: there is no object in it"


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


def read_manifests(
    paths: Iterable[str | Path], skipped: list[str] | None = None, *, may_be_empty: bool = False
) -> list[Manifest]:
    """Every object of files and folders, lists expanded; raises all problems at once.

    `skipped` gets a line for each thing left out of a folder, with the reason. If all that was
    found are empty lists, that is a problem, unless `may_be_empty`.
    """
    reading = _Reading([] if skipped is None else skipped)
    for path in paths:
        reading.read(path)
    nothing = reading.empty if not (reading.found or may_be_empty) else []
    if problems := reading.problems or nothing:
        raise InputError(problems)
    return reading.found


class _Reading:
    """The objects and the problems found so far."""

    def __init__(self, skipped: list[str]) -> None:
        self.found: list[Manifest] = []
        self.problems: list[str] = []
        self.empty: list[str] = []
        """Files with an empty list: a problem only if no file has any object."""
        self._skipped = skipped
        self._foreign: list[str] = []
        self._seen: set[str] = set()

    def read(self, path: str | Path) -> None:
        if str(path) != input_files.STDIN and Path(path).is_dir():
            self._read_folder(Path(path))
        else:
            self._read_file(path, is_named=True)

    def _read_folder(self, folder: Path) -> None:
        before = len(self.problems)
        contents = folder_contents.read_folder(folder, self.problems)
        self._skipped += contents.skipped
        self._foreign.clear()
        for file in contents.files:
            self._read_file(file, is_named=False)
        self._say_foreign()
        nothing = not contents.files and len(self.problems) == before
        if nothing or (self._foreign and len(self._foreign) == len(contents.files)):
            why = "; ".join(contents.skipped) or "no manifests in this folder"
            self.problems.append(f"{folder}: {why} ({', '.join(SUFFIXES)})")

    def _say_foreign(self) -> None:
        if self._foreign:
            first, more = self._foreign[0], len(self._foreign) - 1
            others = f" and {more} more" if more else ""
            self._skipped.append(
                f"{first}{others}: no Kubernetes object in it, skipped: a values.yaml goes with "
                "`helm template`, a patch with `kustomize build`"
            )

    def _read_file(self, path: str | Path, is_named: bool) -> None:
        title = input_files.title_of(path)
        try:
            documents = documents_of(input_files.read_input(path), title)
            if not is_named and _is_foreign(documents):
                self._foreign.append(title)
                return
            objects = list(_objects(documents, title))
        except InputError as error:
            self.problems.extend(error.problems)
            return
        if is_named and not objects:
            has_lists = any(document is not None for document in documents)
            (self.empty if has_lists else self.problems).append(f"{title}: {_EMPTY}")
        self.found.extend(objects)


def _is_foreign(documents: list[Any]) -> bool:
    """Whether no document of a file looks like a Kubernetes object."""
    there = [document for document in documents if document is not None]
    return bool(there) and not any(map(_looks_like_an_object, there))


def _looks_like_an_object(document: Any) -> bool:
    return isinstance(document, dict) and bool(
        document.get("kind") or document.get("apiVersion") or document.get("metadata")
    )


def _objects(documents: list[Any], file: str) -> Iterator[Manifest]:
    for number, document in enumerate(documents, start=1):
        if document is None:
            continue
        if not isinstance(document, dict):
            raise InputError([f"{file}, document {number}: not an object but {_name(document)}"])
        yield from _items(document, file, number)


def _name(document: Any) -> str:
    names = {list: "a list", str: "a text", bool: "true or false"}
    return names.get(type(document), "a number")


def _items(document: dict[str, Any], file: str, number: int) -> Iterator[Manifest]:
    kind = str(document.get("kind") or "")
    items = document.get("items", ())
    if not kind.endswith("List") or not isinstance(items, list | tuple | NoneType):
        yield Manifest(document, file, number)
        return
    inherited = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")}
    for index, item in enumerate(items or ()):
        if not isinstance(item, dict):
            raise InputError([f"{file}, document {number}, items[{index}]: not an object"])
        yield Manifest({**(inherited if kind != "List" else {}), **item}, file, number, index)
