"""Claims and the volumes behind them, in every state they may be found in."""

from tests.differential import labels
from tests.differential.dice import Dice
from tests.differential.draft import Draft
from tests.differential.words import HOSTNAME, OLD_REGION, OLD_ZONE, REGION, ZONE, ZONES, Json

DRIVER = "csi.test"
MODES = ("ReadWriteOnce", "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
SIZES = ("1Gi", "5Gi", "5Gi", "10Gi", "100Gi")
STATES = (*("bound", "unbound") * 5, "prebound", "prebound", "halfway", "lost", "missing")
CLASSES = ("fast", "fast", "local", "local", "zoned", "ebs", "capacity", "capacity", "now")
ODD_CLASSES = ("unheard", "modeless", "", None)


def classes(dice: Dice) -> list[Json]:
    def made(name: str, provisioner: str, mode: str | None) -> Json:
        found: Json = {"metadata": {"name": name}, "provisioner": provisioner}
        return found | ({"volumeBindingMode": mode} if mode else {})

    wait, now = "WaitForFirstConsumer", "Immediate"
    zoned = made("zoned", DRIVER, wait)
    zoned["allowedTopologies"] = [_topology(dice) for _ in range(dice.pick((1, 1, 2)))]
    return [
        made("fast", DRIVER, wait),
        made("local", "kubernetes.io/no-provisioner", wait),
        made("now", DRIVER, now),
        made("ebs", "kubernetes.io/aws-ebs", wait),
        made("capacity", "csi.capacity", wait),
        made("modeless", DRIVER, None),
        zoned,
    ]


def _topology(dice: Dice) -> Json:
    key = dice.pick((ZONE, ZONE, HOSTNAME, "disk"))
    values = {ZONE: ZONES, HOSTNAME: ("n00", "n01", "n02")}.get(key, ("ssd", "hdd"))
    return {"matchLabelExpressions": [{"key": key, "values": dice.some(values, 1, 2)}]}


def volume(dice: Dice, name: str, names: list[str], klass: str | None) -> Json:
    """A persistent volume, not bound yet."""
    spec: Json = {
        "capacity": {"storage": dice.pick(SIZES)},
        "accessModes": sorted(set(dice.some(MODES, 2, 4))),
        **source(dice, name),
    }
    if klass is not None:
        spec["storageClassName"] = klass
    if dice.chance(0.65):
        spec["nodeAffinity"] = {"required": _where(dice, names)} if not dice.odd(0.3) else {}
    if dice.chance(0.1):
        spec["volumeMode"] = dice.pick(("Block", "Filesystem"))
    if dice.chance(0.08):
        spec["volumeAttributesClassName"] = dice.pick(("gold", "silver", ""))
    metadata: Json = {"name": name}
    _tell_class_as_of_old(dice, metadata, klass)
    if dice.chance(0.3):
        metadata["labels"] = zone_labels(dice)
    if dice.chance(0.05):
        metadata["deletionTimestamp"] = "2026-02-01T00:00:00Z"
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Available"}}


def source(dice: Dice, name: str) -> Json:
    """What is behind a volume."""
    return dice.pick(
        (
            {"csi": {"driver": DRIVER, "volumeHandle": name}},
            {"csi": {"driver": DRIVER, "volumeHandle": name}},
            {"local": {"path": f"/mnt/{name}"}},
            {"awsElasticBlockStore": {"volumeID": f"vol-{name}"}},
            {"gcePersistentDisk": {"pdName": name}},
            {"nfs": {"server": "nfs", "path": "/"}},
            *in_tree(dice, name),
        )
    )


def in_tree(dice: Dice, name: str) -> tuple[Json, ...]:
    """What CSI drivers have taken the place of."""
    azure: Json = {"diskName": name, "diskURI": f"/disks/{name}"}
    if dice.chance(0.4):
        azure["kind"] = dice.either(("Managed", "managed"), ("Dedicated", "Shared", ""))
    return (
        {"azureDisk": azure},
        {"cinder": {"volumeID": name}},
        {"portworxVolume": {"volumeID": name}},
        {"vsphereVolume": {"volumePath": f"[store] {name}"}},
        {"azureFile": {"secretName": "s", "shareName": name}},
    )


def zone_labels(dice: Dice) -> dict[str, str]:
    made = {}
    for key in dice.some((ZONE, OLD_ZONE, REGION, OLD_REGION, "app"), 1, 2):
        usual = ("r1", "r2") if key in (REGION, OLD_REGION) else (*ZONES, "z1__z2")
        made[key] = dice.either(usual, ("", "__", "z1__z1", "nowhere"))
    return made


def _where(dice: Dice, names: list[str]) -> Json:
    if dice.chance(0.4):
        return labels.node_selector(dice, names)
    key, values = dice.pick(((HOSTNAME, tuple(names) or ("none",)), (ZONE, ZONES)))
    wanted = {"key": key, "operator": "In", "values": dice.some(values, 1, 3)}
    return {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}


def claim(dice: Dice, name: str, namespace: str, klass: str | None) -> Json:
    """A claim that is not bound yet."""
    metadata: Json = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    modes = [dice.pick(MODES)]
    spec: Json = {
        "accessModes": modes,
        "resources": {"requests": {"storage": dice.pick(SIZES)}},
    }
    if klass is not None:
        spec["storageClassName"] = klass
    if dice.chance(0.1):
        spec["selector"] = labels.label_selector(dice, {"app": ("db", "web")})
    if dice.chance(0.05):
        spec["volumeMode"] = "Block"
    if dice.chance(0.06):
        spec["volumeAttributesClassName"] = dice.pick(("gold", ""))
    _tell_class_as_of_old(dice, metadata, klass)
    if dice.chance(0.1):
        chosen = dice.pick(("n00", "n01", "gone"))
        metadata["annotations"] = {"volume.kubernetes.io/selected-node": chosen}
    if dice.chance(0.02):
        metadata["deletionTimestamp"] = "2026-02-01T00:00:00Z"
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def _tell_class_as_of_old(dice: Dice, metadata: Json, klass: str | None) -> None:
    """By the annotation that came before the field, and has precedence over it."""
    if dice.chance(0.05):
        told = klass if klass is not None and dice.chance(0.6) else dice.pick(CLASSES)
        metadata.setdefault("annotations", {})["volume.beta.kubernetes.io/storage-class"] = told


def bind(dice: Dice, made: Json, bound: Json, state: str) -> None:
    """Bring claim and volume into one of the states between unbound and bound."""
    reference = {key: made["metadata"][key] for key in ("name", "namespace", "uid")}
    if dice.odd(0.3):
        reference["uid"] = "another"
    bound["spec"]["claimRef"] = reference
    if state == "prebound":
        return
    made["spec"]["volumeName"] = bound["metadata"]["name"]
    if state == "halfway":
        return
    bound["status"]["phase"] = "Bound"
    made["metadata"].setdefault("annotations", {})["pv.kubernetes.io/bind-completed"] = "yes"
    made["status"]["phase"] = "Lost" if state == "lost" else "Bound"


def add_claim(draft: Draft, name: str, namespace: str) -> None:
    """A claim in some state, with the volume it may be bound to."""
    dice = draft.dice
    klass = dice.either(CLASSES, ODD_CLASSES)
    state = dice.pick(STATES)
    if state == "missing":
        return
    made = draft.add("persistentVolumeClaims", claim(dice, name, namespace, klass))
    if state == "unbound":
        return
    bound = volume(dice, f"pv-{name}", draft.node_names, klass)
    bind(dice, made, bound, state)
    if not dice.chance(0.07):
        draft.add("persistentVolumes", bound)
