"""The manifests of a folder, and what else lies there: charts, kustomizations, patches, values."""

from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from moorage.app import input_files
from moorage.config import yaml_documents

SUFFIXES: Final = (*yaml_documents.SUFFIXES, ".jsonl", ".ndjson")
_KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_PATCH_FIELDS: Final = ("patches", "patchesStrategicMerge", "patchesJson6902", "components")


class FolderContents(NamedTuple):
    """The files to read, and a line for those left out, with the command that would read them."""

    files: list[Path]
    skipped: list[str]


def read_folder(folder: Path, problems: list[str]) -> FolderContents:
    """Sort the files of a folder into those to read and those to leave out."""
    found = list(input_files.walk_folder(folder, problems))
    charts = {file.parent for file in found if file.name == "Chart.yaml"}
    kustomized = [file for file in found if file.name in _KUSTOMIZATIONS]
    charted = {file for file in found if any(chart in file.parents for chart in charts)}
    patches = {patch for file in kustomized if file not in charted for patch in _patches(file)}
    left_out = {*charted, *kustomized, *patches}
    files = [file for file in found if file.suffix in SUFFIXES and file not in left_out]
    return FolderContents(files, [*_charts(charts), *_kustomizations(kustomized, charted, patches)])


def _charts(charts: set[Path]) -> list[str]:
    outer = sorted(chart for chart in charts if not charts & set(chart.parents))
    return [
        f"{chart}: a Helm chart, skipped: read what `helm template {chart}` prints"
        for chart in outer
    ]


def _kustomizations(kustomized: list[Path], charted: set[Path], patches: set[Path]) -> list[str]:
    said = []
    for file in kustomized:
        if file not in charted:
            own = len({patch for patch in patches if file.parent in patch.parents})
            with_patches = f" and {own} of its patches" if own else ""
            said.append(
                f"{file}{with_patches} skipped: read what `kustomize build {file.parent}` prints"
            )
    return said


def _patches(kustomization: Path) -> list[Path]:
    """The files that a kustomization names as patches."""
    try:
        value = yaml.safe_load(kustomization.read_bytes())
    except (OSError, yaml.YAMLError, RecursionError, ValueError):
        return []
    if not isinstance(value, dict):
        return []
    listed = (entry for field in _PATCH_FIELDS for entry in _entries(value.get(field)))
    return [kustomization.parent / name for name in listed if "\n" not in name]


def _entries(listed: Any) -> list[str]:
    if not isinstance(listed, list):
        return []
    paths = [entry.get("path") if isinstance(entry, dict) else entry for entry in listed]
    return [path for path in paths if isinstance(path, str)]
