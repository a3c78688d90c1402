"""The wire types of k8s.io/kube-scheduler/extender/v1.

Go writes the names of fields as they are, in capitals; `null` stands for what is not there.
Objects travel as JSON text that is already made, or is yet to be read.
"""

from typing import Final, dataclass_transform

import msgspec

MIN_PRIORITY: Final = 0
MAX_PRIORITY: Final = 10
EMPTY: Final = msgspec.Raw(b"{}")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Wire(
    msgspec.Struct, frozen=True, rename="pascal", kw_only=True, forbid_unknown_fields=True, gc=False
):
    """Go's names, to the letter; `moorage.extender.reading` forgives more."""


class ExtenderArgs(Wire):
    """Filter and prioritize: a pod, and candidates as whole objects or by name."""

    pod: msgspec.Raw
    nodes: msgspec.Raw | None = None
    node_names: list[str] | None = None


class NodeList(Wire):
    """The nodes of a request or an answer."""

    metadata: msgspec.Raw = msgspec.field(default=EMPTY, name="metadata")
    items: list[msgspec.Raw] | None = msgspec.field(default=None, name="items")


class ExtenderFilterResult(Wire):
    """The nodes that pass, and why others do not. `error` says that nothing could be decided."""

    nodes: msgspec.Raw | None = None
    node_names: list[str] | None = None
    failed_nodes: dict[str, str] | None = None
    failed_and_unresolvable_nodes: dict[str, str] | None = None
    error: str = ""


class HostPriority(Wire):
    """A node's score, 0 to 10."""

    host: str = ""
    score: int = 0


class MetaPod(Wire):
    """A victim by its uid."""

    uid: str = msgspec.field(default="", name="UID")


class MetaVictims(Wire):
    """The victims on a node by their uids."""

    pods: list[MetaPod] | None = None
    num_pdb_violations: int = msgspec.field(default=0, name="NumPDBViolations")


class Victims(Wire):
    """The victims on a node as whole objects."""

    pods: list[msgspec.Raw] | None = None
    num_pdb_violations: int = msgspec.field(default=0, name="NumPDBViolations")


class ExtenderPreemptionArgs(Wire):
    """A pod that wants room, and who would have to leave which node."""

    pod: msgspec.Raw
    node_name_to_victims: dict[str, Victims] | None = None
    node_name_to_meta_victims: dict[str, MetaVictims] | None = None


class ExtenderPreemptionResult(Wire):
    """The nodes that remain, always with uids."""

    node_name_to_meta_victims: dict[str, MetaVictims] | None = None


class ExtenderBindingArgs(Wire):
    """Bind this pod to this node."""

    pod_name: str = ""
    pod_namespace: str = ""
    pod_uid: str = msgspec.field(default="", name="PodUID")
    node: str = ""


class ExtenderBindingResult(Wire):
    """Nothing, or why it is not bound."""

    error: str = ""
