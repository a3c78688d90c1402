"""CSI migration: in-tree volumes translated to driver, handle and topology of their CSI driver.

kube-scheduler reads an in-tree volume as its CSI equivalent on nodes that have migrated. Seven
in-tree plugins have such an equivalent; for five of them the scheduler translates volumes.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from moorage.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.api.label_requirements import IN
from moorage.api.meta import ObjectError
from moorage.api.node import BETA_REGION_LABEL, BETA_ZONE_LABEL, REGION_LABEL, ZONE_LABEL
from moorage.api.storage import PersistentVolume
from moorage.api.volumes import AWSElasticBlockStore, AzureDisk, VolumeSources
from moorage.plugins.volumes.volume_affinity import Reach, compile_reach, reach_of

ZONE_SEPARATOR: Final = "__"

_Terms = tuple[NodeSelectorTerm, ...]


def csi_selector(volume: PersistentVolume, zone_label: str) -> NodeSelector | None:
    """The node affinity of the CSI equivalent of a volume.

    Zones in its terms are moved to the driver's label. Zones that it has only as labels of its own
    become requirements.
    """
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    terms = required.node_selector_terms if required is not None else ()
    zone, region = _labels_in_use(volume, terms)
    if _has_values(terms, zone):
        terms = _renamed(terms, zone, zone_label)
    elif zones := _labelled_zones(volume, zone):
        terms = _requiring(terms or (NodeSelectorTerm(),), zone_label, zones)
    if region == BETA_REGION_LABEL and _has_values(terms, region):
        terms = _renamed(terms, region, REGION_LABEL)
    return NodeSelector(node_selector_terms=terms) if terms or required is not None else None


def _labels_in_use(volume: PersistentVolume, terms: _Terms) -> tuple[str, str]:
    """The zone and region label that the volume uses: the GA labels, or the beta ones."""
    named = {expression.key for term in terms for expression in term.match_expressions}
    for known in (named, volume.labels.keys()):
        if ZONE_LABEL in known:
            return ZONE_LABEL, REGION_LABEL
        if BETA_ZONE_LABEL in known:
            return BETA_ZONE_LABEL, BETA_REGION_LABEL
    return ZONE_LABEL, REGION_LABEL


def _has_values(terms: _Terms, key: str) -> bool:
    return any(
        expression.key == key and expression.values
        for term in terms
        for expression in term.match_expressions
    )


def _labelled_zones(volume: PersistentVolume, label: str) -> tuple[str, ...]:
    zones = (zone.strip() for zone in volume.labels.get(label, "").split(ZONE_SEPARATOR))
    return tuple(sorted({zone for zone in zones if zone}))


def _renamed(terms: _Terms, old: str, new: str) -> _Terms:
    def rename(expression: NodeSelectorRequirement) -> NodeSelectorRequirement:
        return msgspec.structs.replace(expression, key=new) if expression.key == old else expression

    return tuple(
        msgspec.structs.replace(term, match_expressions=tuple(map(rename, term.match_expressions)))
        for term in terms
    )


def _requiring(terms: _Terms, label: str, zones: tuple[str, ...]) -> _Terms:
    added = NodeSelectorRequirement(key=label, operator=IN, values=zones)
    return tuple(
        msgspec.structs.replace(term, match_expressions=(*term.match_expressions, added))
        for term in terms
    )


MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
"""The CSINode annotation that lists the in-tree plugins a node has migrated."""

_UNSPECIFIED: Final = "UNSPECIFIED"
_EBS_VOLUME: Final = re.compile(r"vol-[^/]*")


class MigrationError(ObjectError):
    """An in-tree volume that cannot be translated to CSI."""


class InTreePlugin(NamedTuple):
    """An in-tree plugin, the CSI driver it migrates to, and that driver's zone label."""

    name: str
    driver: str
    zone_label: str | None = None
    handle: Callable[[VolumeSources], str] | None = None
    """Makes a volume's handle; None if the scheduler does not translate its volumes."""


def plugin_of(sources: VolumeSources) -> InTreePlugin | None:
    """The in-tree plugin of a pod's or persistent volume's source, if it can be migrated."""
    for field, plugin in _BY_FIELD.items():
        if getattr(sources, field) is not None:
            return plugin
    return None


def volume_handle(volume: PersistentVolume, plugin: InTreePlugin) -> str:
    """The CSI handle of an in-tree persistent volume."""
    disk = volume.spec.gce_persistent_disk
    if disk is not None:
        return _gce_handle(disk.pd_name, _zones(volume))
    return inline_handle(volume.spec, plugin)


def inline_handle(sources: VolumeSources, plugin: InTreePlugin) -> str:
    """The CSI handle of a volume in a pod."""
    if plugin.handle is None:
        raise MigrationError(f"{plugin.name} is not migrated")
    return plugin.handle(sources)


def migrated_reach(volume: PersistentVolume, plugin: InTreePlugin) -> Reach:
    """The reach of the CSI equivalent of an in-tree volume."""
    volume_handle(volume, plugin)
    if plugin.zone_label is None:
        return reach_of(volume)
    return compile_reach(csi_selector(volume, plugin.zone_label))


def _ebs(sources: VolumeSources) -> str:
    disk = sources.aws_elastic_block_store or AWSElasticBlockStore()
    if not disk.volume_id.startswith("aws://"):
        return disk.volume_id
    found = unquote(urlsplit(disk.volume_id).path).strip("/")
    if not _EBS_VOLUME.fullmatch(found):
        raise MigrationError(
            "failed to translate Kubernetes ID to EBS Volume ID "
            f"Invalid format for AWS volume ({disk.volume_id})"
        )
    return found


def _gce(sources: VolumeSources) -> str:
    disk = sources.gce_persistent_disk
    return _gce_handle(disk.pd_name if disk else "", [""])


def _azure(sources: VolumeSources) -> str:
    disk = sources.azure_disk or AzureDisk()
    if disk.kind is not None and disk.kind.lower() != "managed":
        raise MigrationError(f"kind({disk.kind}) is not supported in csi migration")
    return disk.disk_uri


def _cinder(sources: VolumeSources) -> str:
    return sources.cinder.volume_id if sources.cinder else ""


def _portworx(sources: VolumeSources) -> str:
    return sources.portworx_volume.volume_id if sources.portworx_volume else ""


def _zones(volume: PersistentVolume) -> list[str]:
    label = volume.labels.get(BETA_ZONE_LABEL) or volume.labels.get(ZONE_LABEL, "")
    return label.split(ZONE_SEPARATOR)


def _gce_handle(disk: str, zones: list[str]) -> str:
    if len(zones) > 1:
        return f"projects/{_UNSPECIFIED}/regions/{_gce_region(zones)}/disks/{disk}"
    return f"projects/{_UNSPECIFIED}/zones/{zones[0] or _UNSPECIFIED}/disks/{disk}"


def _gce_region(zones: list[str]) -> str:
    parts = [zone.split("-") for zone in zones]
    malformed = [zone for zone, part in zip(zones, parts, strict=True) if len(part) != 3]
    if malformed:
        raise MigrationError(
            "failed to get region from zones: zone in unexpected format, "
            f"expected: {{locale}}-{{region}}-{{zone}}, got: {malformed[0]}"
        )
    regions = {"-".join(part[:2]) for part in parts}
    if len(regions) != 1:
        raise MigrationError(
            "failed to get region from zones: multiple or no regions gotten from zones, "
            f"got: {sorted(regions)}"
        )
    return regions.pop()


_BY_FIELD: Final = {
    "gce_persistent_disk": InTreePlugin(
        "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone", _gce
    ),
    "aws_elastic_block_store": InTreePlugin(
        "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone", _ebs
    ),
    "cinder": InTreePlugin(
        "kubernetes.io/cinder",
        "cinder.csi.openstack.org",
        "topology.cinder.csi.openstack.org/zone",
        _cinder,
    ),
    "azure_disk": InTreePlugin("kubernetes.io/azure-disk", "disk.csi.azure.com", handle=_azure),
    "portworx_volume": InTreePlugin(
        "kubernetes.io/portworx-volume", "pxd.portworx.com", handle=_portworx
    ),
    "azure_file": InTreePlugin("kubernetes.io/azure-file", "file.csi.azure.com"),
    "vsphere_volume": InTreePlugin("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
}

BY_NAME: Final = {plugin.name: plugin for plugin in _BY_FIELD.values()}
"""The in-tree plugins by name, which is also their provisioners' name."""
