"""How many volumes a node takes, and disks that only one pod may write to."""

from tests.differential.dice import Dice
from tests.differential.draft import Draft, Feature
from tests.differential.features import claims
from tests.differential.features.claims import DRIVER
from tests.differential.words import Json

EBS_CSI = "ebs.csi.aws.com"
MOVED = (
    "pd.csi.storage.gke.io",
    "disk.csi.azure.com",
    "cinder.csi.openstack.org",
    "pxd.portworx.com",
    "csi.vsphere.vmware.com",
    "file.csi.azure.com",
)
PLUGINS = (
    "kubernetes.io/aws-ebs",
    "kubernetes.io/aws-ebs,kubernetes.io/gce-pd,kubernetes.io/azure-disk",
    "kubernetes.io/cinder,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume",
)
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"


class Limits(Feature):
    """CSINodes with small limits, with and without migrated in-tree plugins."""

    name = "limits"
    density = 1.5

    def on_node(self, draft: Draft, node: Json) -> None:
        dice = draft.dice
        if dice.chance(0.15):
            return
        names = [*dice.some((DRIVER, EBS_CSI), 1, 2), *dice.some(MOVED, 0, 3)]
        drivers = [self._driver(dice, name) for name in names]
        metadata: Json = {"name": node["metadata"]["name"]}
        if dice.chance(0.6):
            plugins = dice.either(PLUGINS, ("", "kubernetes.io/gce-pd", "kubernetes.io/aws-ebs,,x"))
            metadata["annotations"] = {MIGRATED: plugins}
        draft.add("csiNodes", {"metadata": metadata, "spec": {"drivers": drivers}})

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if not draft.dice.chance(0.9 if incoming else 0.6):
            return
        for number in range(draft.dice.count(1, 2)):
            name, namespace = f"{pod['metadata']['name']}-csi{number}", pod["metadata"]["namespace"]
            mounted = {"name": f"l{number}", "persistentVolumeClaim": {"claimName": name}}
            if draft.dice.chance(0.3):
                mounted = {"name": f"l{number}", **self._inline(draft.dice, name)}
            else:
                self._bound(draft, name, namespace)
            pod["spec"].setdefault("volumes", []).append(mounted)

    def on_case(self, draft: Draft) -> None:
        """Some drivers keep pods off nodes where they are not."""
        for driver in draft.dice.some((DRIVER, EBS_CSI, *MOVED), 0, 3):
            if all(each["metadata"]["name"] != driver for each in draft.all("csiDrivers")):
                spec = {"preventPodSchedulingIfMissing": draft.dice.chance(0.7)}
                draft.add("csiDrivers", {"metadata": {"name": driver}, "spec": spec})

    def _inline(self, dice: Dice, name: str) -> Json:
        volume = dice.either((name, f"vol-{name}"), ("aws://zone/vol-1", "aws://zone/x", "aws://a"))
        usual: tuple[Json, ...] = (
            {"awsElasticBlockStore": {"volumeID": volume}},
            {"gcePersistentDisk": {"pdName": name}},
        )
        return dice.pick((*usual, *claims.in_tree(dice, name)))

    def _bound(self, draft: Draft, name: str, namespace: str) -> None:
        dice = draft.dice
        made = draft.add("persistentVolumeClaims", claims.claim(dice, name, namespace, "fast"))
        made["metadata"].pop("deletionTimestamp", None)
        volume = claims.volume(dice, f"pv-{name}", draft.node_names, "fast")
        if dice.chance(0.8):
            volume["spec"].pop("nodeAffinity", None)
            volume["metadata"].pop("labels", None)
        claims.bind(dice, made, volume, "bound")
        draft.add("persistentVolumes", volume)

    def _driver(self, dice: Dice, name: str) -> Json:
        made: Json = {"name": name, "nodeID": "x", "topologyKeys": []}
        if dice.chance(0.85):
            made["allocatable"] = {"count": dice.either((0, 1, 1, 2, 3), (-1,))}
            if dice.odd(0.3):
                made["allocatable"] = {}
        return made


class Disks(Feature):
    """In-tree disks mounted by name, for reading and for writing."""

    name = "disks"
    density = 1.5

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if draft.dice.chance(0.9 if incoming else 0.5):
            for number in range(draft.dice.count(1, 2)):
                mounted = {"name": f"d{number}", **self._disk(draft.dice)}
                pod["spec"].setdefault("volumes", []).append(mounted)

    def _disk(self, dice: Dice) -> Json:
        reading, disk = dice.chance(0.4), dice.pick(("1", "2"))
        rbd = {"monitors": dice.some(("a", "b"), 0, 2), "pool": dice.pick(("p", "")), "image": disk}
        iscsi = {"targetPortal": "10.0.0.1", "iqn": f"iqn.{disk}", "lun": dice.pick((0, 1))}
        usual: tuple[Json, ...] = (
            {"gcePersistentDisk": {"pdName": disk, "readOnly": reading}},
            {"awsElasticBlockStore": {"volumeID": f"vol-{disk}", "readOnly": reading}},
            {"rbd": {**rbd, "readOnly": reading}},
            {"iscsi": {**iscsi, "readOnly": reading}},
        )
        harmless: tuple[Json, ...] = (
            {"azureDisk": {"diskName": disk, "diskURI": f"/disks/{disk}"}},
            {"cinder": {"volumeID": disk}},
            {"hostPath": {"path": "/"}},
            {"csi": {"driver": DRIVER}},
        )
        return dice.pick(harmless if dice.chance(0.2) else usual)
