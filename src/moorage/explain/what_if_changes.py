"""The changes of a what-if: nodes added and removed, workloads scaled, another configuration."""

from pathlib import Path
from typing import Final

import msgspec

from moorage.app import input_files
from moorage.config import strict_decoder, yaml_documents
from moorage.config.field_errors import InputError, Report, unsupported
from moorage.simulate import what_if
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.scenario_schema import API_VERSION

KIND: Final = "WhatIf"


class AddedNodes(msgspec.Struct, frozen=True, rename="camel"):
    """A number of nodes like an existing node, or like the node of a file."""

    count: int
    like: str


class Changes(msgspec.Struct, frozen=True, rename="camel"):
    """One scenario; all of its changes apply at once.

    With `config`, another KubeSchedulerConfiguration, all pods that had no node at first are
    scheduled again.
    """

    name: str
    add_nodes: tuple[AddedNodes, ...] = ()
    drain: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    lose_zones: tuple[str, ...] = ()
    scale: dict[str, int] = {}
    config: str = ""

    def apply(self, found: list[Manifest]) -> list[Manifest]:
        """The objects of the cluster with the changes made."""
        added = [f"{each.count}={each.like}" for each in self.add_nodes]
        scaled = [f"{workload}={count}" for workload, count in self.scale.items()]
        try:
            changed = what_if.add_nodes(found, added)
            changed = what_if.scale_workloads(changed, scaled)
            changed = what_if.drain_nodes(changed, self.drain)
            changed = what_if.remove_nodes(changed, self.remove)
            return what_if.lose_zones(changed, self.lose_zones)
        except InputError as error:
            raise InputError([f"{self.name}: {each}" for each in error.problems]) from None


class WhatIf(msgspec.Struct, frozen=True, rename="camel"):
    """A file of scenarios; each starts from the same cluster."""

    api_version: str
    kind: str
    scenarios: tuple[Changes, ...]


def read_changes(path: str) -> list[Changes]:
    """The scenarios of a file; raises all of its problems at once, each with its line."""
    file, title = Path(path), input_files.title_of(path)
    found = yaml_documents.find_only_document(input_files.read_input(path, "-f"), KIND, title)
    report = Report(title, found.places, found.within)
    decoded = strict_decoder.decode(found.value, WhatIf, report)
    if decoded is not None and decoded.api_version != API_VERSION:
        report.problem(("apiVersion",), unsupported(decoded.api_version, (API_VERSION,)))
    report.raise_problems()
    assert decoded is not None
    return [_beside(each, file.parent) for each in decoded.scenarios]


def _beside(changes: Changes, folder: Path) -> Changes:
    """The changes with their file names resolved from the folder of the scenario file."""
    nodes = tuple(
        msgspec.structs.replace(each, like=str(folder / each.like))
        if (folder / each.like).is_file()
        else each
        for each in changes.add_nodes
    )
    config = str(folder / changes.config) if changes.config else ""
    return msgspec.structs.replace(changes, add_nodes=nodes, config=config)
