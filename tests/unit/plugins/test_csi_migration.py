"""In-tree volumes as their CSI drivers see them."""

from typing import Any

import pytest

from moorage.api.decode import decode_as
from moorage.api.storage import PersistentVolume
from moorage.plugins.volumes.csi_migration import (
    MigrationError,
    inline_handle,
    migrated_reach,
    plugin_of,
    volume_handle,
)
from moorage.plugins.volumes.volume_affinity import reaches

ZONE = "topology.kubernetes.io/zone"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"
EBS = {"awsElasticBlockStore": {"volumeID": "vol-1"}}


def volume(source: dict[str, Any], *terms: dict[str, str], **labels: str) -> PersistentVolume:
    expressions = [
        [{"key": k, "operator": "In", "values": [v]} for k, v in term.items()] for term in terms
    ]
    selector = {"nodeSelectorTerms": [{"matchExpressions": each} for each in expressions]}
    affinity = {"nodeAffinity": {"required": selector}} if terms else {}
    raw = {"metadata": {"name": "pv", "labels": labels}, "spec": {**source, **affinity}}
    return decode_as(raw, PersistentVolume)


@pytest.mark.parametrize(
    ("source", "driver", "handle"),
    [
        pytest.param(EBS, "ebs.csi.aws.com", "vol-1", id="a bare EBS id stays"),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-2"}},
            "ebs.csi.aws.com",
            "vol-2",
            id="an EBS address is cut to its id",
        ),
        pytest.param(
            {"gcePersistentDisk": {"pdName": "disk"}},
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk",
            id="a GCE disk gets a path",
        ),
        pytest.param(
            {"azureDisk": {"diskURI": "uri", "kind": "managed"}},
            "disk.csi.azure.com",
            "uri",
            id="a managed Azure disk goes by its URI",
        ),
        pytest.param(
            {"cinder": {"volumeID": "c"}}, "cinder.csi.openstack.org", "c", id="Cinder by its id"
        ),
        pytest.param(
            {"portworxVolume": {"volumeID": "p"}}, "pxd.portworx.com", "p", id="Portworx by its id"
        ),
    ],
)
def test_driver_and_handle(source: dict[str, Any], driver: str, handle: str) -> None:
    found = volume(source)
    plugin = plugin_of(found.spec)

    assert plugin is not None
    assert plugin.driver == driver
    assert volume_handle(found, plugin) == handle
    assert inline_handle(found.spec, plugin) == handle


@pytest.mark.parametrize(
    ("labels", "handle"),
    [
        pytest.param({ZONE: "us-a-1"}, "projects/UNSPECIFIED/zones/us-a-1/disks/d", id="one zone"),
        pytest.param(
            {BETA_ZONE: "us-a-1", ZONE: "us-a-2"},
            "projects/UNSPECIFIED/zones/us-a-1/disks/d",
            id="the beta label goes first",
        ),
        pytest.param(
            {ZONE: "us-a-1__us-a-2"},
            "projects/UNSPECIFIED/regions/us-a/disks/d",
            id="several zones make a region",
        ),
    ],
)
def test_a_gce_volume_is_named_by_its_zones(labels: dict[str, str], handle: str) -> None:
    found = volume({"gcePersistentDisk": {"pdName": "d"}}, **labels)
    plugin = plugin_of(found.spec)

    assert plugin is not None
    assert volume_handle(found, plugin) == handle


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(
            volume({"awsElasticBlockStore": {"volumeID": "aws://z/disk"}}),
            id="no id in the address",
        ),
        pytest.param(
            volume({"azureDisk": {"diskURI": "u", "kind": "Dedicated"}}), id="an unmanaged disk"
        ),
        pytest.param(
            volume({"gcePersistentDisk": {"pdName": "d"}}, **{ZONE: "us-a-1__eu-b-1"}),
            id="zones of two regions",
        ),
        pytest.param(
            volume({"gcePersistentDisk": {"pdName": "d"}}, **{ZONE: "a__b"}), id="odd zone names"
        ),
    ],
)
def test_some_volumes_have_no_equivalent(found: PersistentVolume) -> None:
    plugin = plugin_of(found.spec)

    assert plugin is not None
    with pytest.raises(MigrationError):
        migrated_reach(found, plugin)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param({"azureFile": {"shareName": "s"}}, id="azure-file"),
        pytest.param({"vsphereVolume": {"volumePath": "p"}}, id="vsphere-volume"),
    ],
)
def test_two_plugins_are_known_but_not_moved(source: dict[str, Any]) -> None:
    plugin = plugin_of(volume(source).spec)

    assert plugin is not None
    assert plugin.handle is None


def test_csi_and_local_volumes_are_not_in_tree() -> None:
    assert plugin_of(volume({"csi": {"driver": "ebs.csi.aws.com"}}).spec) is None
    assert plugin_of(volume({"local": {"path": "/mnt"}}).spec) is None


@pytest.mark.parametrize(
    ("found", "near", "far"),
    [
        pytest.param(
            volume(EBS, {ZONE: "a"}),
            {EBS_ZONE: "a"},
            {ZONE: "a"},
            id="a zone moves to the driver's label",
        ),
        pytest.param(
            volume(EBS, {BETA_ZONE: "a", BETA_REGION: "r"}),
            {EBS_ZONE: "a", "topology.kubernetes.io/region": "r"},
            {EBS_ZONE: "a", BETA_REGION: "r"},
            id="with beta labels the region moves to today's label",
        ),
        pytest.param(
            volume(EBS, **{ZONE: "a__b"}),
            {EBS_ZONE: "b"},
            {ZONE: "b"},
            id="a labelled zone becomes a requirement",
        ),
        pytest.param(
            volume(EBS, {"disk": "ssd"}, **{ZONE: "a"}),
            {"disk": "ssd", EBS_ZONE: "a"},
            {"disk": "ssd"},
            id="and is added to every term there is",
        ),
        pytest.param(
            volume(EBS, {ZONE: "a"}, **{ZONE: "b"}),
            {EBS_ZONE: "a"},
            {EBS_ZONE: "b"},
            id="a zone in the affinity goes before a labelled one",
        ),
        pytest.param(
            volume({"azureDisk": {"diskURI": "u"}}, {ZONE: "a"}),
            {ZONE: "a"},
            {"topology.disk.csi.azure.com/zone": "a"},
            id="Azure disks stay where they are",
        ),
    ],
)
def test_reach_after_migration(
    found: PersistentVolume, near: dict[str, str], far: dict[str, str]
) -> None:
    plugin = plugin_of(found.spec)

    assert plugin is not None
    assert reaches(migrated_reach(found, plugin), near)
    assert not reaches(migrated_reach(found, plugin), far)


def test_a_volume_without_zones_is_reached_from_anywhere() -> None:
    plugin = plugin_of(volume(EBS).spec)

    assert plugin is not None
    assert migrated_reach(volume(EBS), plugin) is None
