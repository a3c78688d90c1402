"""Writes which fields the API server knows for the kinds the embedded cluster keeps.

    python -m tests.kube.api_fields      (needs .kube-assets)

The answer is names and types alone, in src/moorage/memory/validation/api_fields.json.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from moorage.memory.cluster_resources import KEPT_RESOURCES
from tests.integration.control_plane import ControlPlane, Refused, assets

OUT = Path(__file__).parents[2] / "src/moorage/memory/validation/api_fields.json"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
TIMES = (
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
)
ANYTHING = ("FieldsV1", "RawExtension")
NOT_FOUND = 404


class Fields:
    """Collects types, each once, by its last name; `@group` tells apart those of one name."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.types: dict[str, dict[str, str]] = {}
        self._names: dict[str, str] = {}
        self.kinds: dict[str, str] = {}

    def read(self, group_version: str, kind: str) -> None:
        where = f"apis/{group_version}" if "/" in group_version else f"api/{group_version}"
        try:
            published = self._plane.request("GET", f"/openapi/v3/{where}")
        except Refused as error:
            if error.status != NOT_FOUND:
                raise
            return  # a version that is off by default
        schemas = published["components"]["schemas"]
        group, _, version = group_version.rpartition("/")
        for name, schema in schemas.items():
            for known in schema.get("x-kubernetes-group-version-kind") or ():
                if (known["group"], known["version"], known["kind"]) == (group, version, kind):
                    self.kinds[kind] = self._type(name, schemas)
                    return

    def _type(self, name: str, schemas: dict[str, Any]) -> str:
        if name in self._names:
            return self._names[name]
        *_, group, _, short = name.split(".")
        if short in self.types:
            short = f"{short}@{group}"
        self._names[name] = short
        self.types[short] = {}
        for field, schema in (schemas[name].get("properties") or {}).items():
            self.types[short][field] = self._field(schema, schemas)
        return short

    def _field(self, schema: dict[str, Any], schemas: dict[str, Any]) -> str:
        target = schema.get("$ref") or next(
            (each["$ref"] for each in schema.get("allOf") or () if "$ref" in each), ""
        )
        if target:
            return self._reference(target.rpartition("/")[2], schemas)
        if schema.get("type") == "array":
            return f"[{self._field(schema['items'], schemas)}]"
        if "additionalProperties" in schema:
            return f"{{{self._field(schema['additionalProperties'], schemas)}}}"
        return str(schema.get("format") or schema.get("type") or "any")

    def _reference(self, name: str, schemas: dict[str, Any]) -> str:
        if name == QUANTITY:
            return "quantity"
        if name == INT_OR_STRING:
            return "int-or-string"
        if name in TIMES:
            return "time"
        if name.rpartition(".")[2] in ANYTHING:
            return "any"
        return self._type(name, schemas)


def read_fields(plane: ControlPlane) -> dict[str, Any]:
    """The fields of every kind that the embedded cluster keeps and the API server serves."""
    fields = Fields(plane)
    for resource in KEPT_RESOURCES.values():
        if resource.group != "scheduling.x-k8s.io":
            fields.read(resource.api_version, resource.kind)
    return {"kinds": fields.kinds, "types": dict(sorted(fields.types.items()))}


def as_text(fields: dict[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"), sort_keys=True) + "\n"


if __name__ == "__main__":
    programs = assets()
    assert programs is not None, "run `make kube` first"
    with tempfile.TemporaryDirectory() as home, ControlPlane(programs, Path(home)) as plane:
        OUT.write_text(as_text(read_fields(plane)))
