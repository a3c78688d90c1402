"""What every Kubernetes object has: metadata, owners, label selectors."""

import datetime
from collections.abc import Mapping
from typing import Annotated, Any, dataclass_transform

import msgspec

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
QuantityText = Annotated[str, msgspec.Meta(extra={"quantity": True})]
"""A quantity as written (`500m`, `2Gi`); `moorage.api.quantity` gives its value."""

ResourceList = dict[str, QuantityText]
"""Quantities by resource name."""


class ObjectError(ValueError):
    """A value that no API server would have stored, or that has no possible meaning."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class ApiStruct(
    msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True, gc=False
):
    """The wire dialect of Kubernetes: camelCase names, unknown fields ignored, defaults left out.

    Decoded objects form trees, never cycles, so the garbage collector need not visit them.
    """


def json_data(value: object) -> Any:
    """A value as an API server returns it: only dicts, lists and scalars."""
    return msgspec.json.decode(msgspec.json.encode(value))


class OwnerReference(ApiStruct):
    """The object that owns another; at most one owner is the controller."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(ApiStruct):
    """Identity, labels and history of an object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    creation_timestamp: datetime.datetime | None = None
    deletion_timestamp: datetime.datetime | None = None
    owner_references: tuple[OwnerReference, ...] = ()


class LabelSelectorRequirement(ApiStruct):
    """One expression of a label selector: In, NotIn, Exists or DoesNotExist."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(ApiStruct):
    """Labels and expressions that must all match; `moorage.api.selectors` evaluates it."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class KubeObject(ApiStruct):
    """An object with metadata."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def name(self) -> str:
        """The name, unique within kind and namespace."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """The namespace, empty for cluster-wide objects."""
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        """The identity, which a later object of the same name does not share."""
        return self.metadata.uid

    @property
    def labels(self) -> dict[str, str]:
        """The labels; read-only."""
        return self.metadata.labels

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations; read-only."""
        return self.metadata.annotations

    @property
    def key(self) -> str:
        """`namespace/name`, or `name` for cluster-wide objects."""
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


def annotated(metadata: ObjectMeta, annotations: Mapping[str, str] | None) -> ObjectMeta:
    """Metadata with these annotations added."""
    if not annotations:
        return metadata
    return msgspec.structs.replace(metadata, annotations={**metadata.annotations, **annotations})
