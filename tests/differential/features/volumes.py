"""Pods with claims: bound, unbound, shared, ephemeral and missing ones."""

from tests.differential.draft import Draft, Feature
from tests.differential.features import claims
from tests.differential.words import HOSTNAME, ZONE, ZONES, Json


class Volumes(Feature):
    """Claims of the pod and of others, volumes to bind, classes and capacities."""

    name = "volumes"

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        dice = draft.dice
        if not dice.chance(0.95 if incoming else 0.25):
            return
        for number in range(dice.pick((1, 1, 2, 3)) if incoming else 1):
            if dice.chance(0.15):
                self._ephemeral(draft, pod, number)
            else:
                self._claimed(draft, pod, number)

    def on_case(self, draft: Draft) -> None:
        dice = draft.dice
        kept = [k for k in claims.classes(dice) if not dice.chance(0.03)]
        draft.case["storageClasses"] = kept
        wanted = [c["spec"].get("storageClassName") for c in draft.all("persistentVolumeClaims")]
        for number in range(dice.count(0, 8)):
            klass = dice.either(claims.CLASSES, claims.ODD_CLASSES)
            if wanted and dice.chance(0.75):
                klass = dice.pick(wanted)
            free = claims.volume(dice, f"free{number}", draft.node_names, klass)
            draft.add("persistentVolumes", free)
        if dice.chance(0.6):
            self._capacities(draft)

    def _claimed(self, draft: Draft, pod: Json, number: int) -> None:
        """A claim of its own or, now and then, one that another pod uses."""
        dice, metadata = draft.dice, pod["metadata"]
        name = f"{metadata['name']}-{number}"
        others = [
            c["metadata"]["name"]
            for c in draft.all("persistentVolumeClaims")
            if c["metadata"]["namespace"] == metadata["namespace"]
        ]
        if others and dice.chance(0.4):
            name = dice.pick(others)
        else:
            claims.add_claim(draft, name, metadata["namespace"])
        if dice.odd(0.1):
            name = ""
        mounted: Json = {"name": f"v{number}", "persistentVolumeClaim": {"claimName": name}}
        if dice.chance(0.1):
            mounted["persistentVolumeClaim"]["readOnly"] = True
        pod["spec"].setdefault("volumes", []).append(mounted)

    def _ephemeral(self, draft: Draft, pod: Json, number: int) -> None:
        dice, metadata = draft.dice, pod["metadata"]
        template = {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}}
        mounted = {"name": f"e{number}", "ephemeral": {"volumeClaimTemplate": template}}
        pod["spec"].setdefault("volumes", []).append(mounted)
        if dice.chance(0.1):
            return
        made = claims.claim(dice, f"{metadata['name']}-e{number}", metadata["namespace"], "fast")
        owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"]}
        uid = metadata["uid"] if dice.chance(0.9) else "another"
        owned = {**owner, "uid": uid, "controller": True}
        if dice.chance(0.9):
            made["metadata"]["ownerReferences"] = [owned]
        draft.add("persistentVolumeClaims", made)

    def _capacities(self, draft: Draft) -> None:
        dice = draft.dice
        drivers = ("csi.capacity", claims.DRIVER)
        for driver in drivers:
            spec = {"storageCapacity": driver == "csi.capacity" or dice.chance(0.3)}
            draft.add("csiDrivers", {"metadata": {"name": driver}, "spec": spec})
        for number in range(dice.count(1, 6)):
            made: Json = {
                "metadata": {"name": f"cap{number}", "namespace": "default"},
                "storageClassName": dice.pick(("capacity", "capacity", "capacity", "fast")),
                "nodeTopology": self._topology(draft),
            }
            made["capacity"] = dice.either(("1Gi", "10Gi", "200Gi"), ("0", "5Gi"))
            if dice.chance(0.3):
                made["maximumVolumeSize"] = dice.pick(("1Gi", "5Gi", "100Gi"))
            if dice.odd(0.3):
                del made["nodeTopology"], made["capacity"]
            draft.add("csiStorageCapacities", made)

    def _topology(self, draft: Draft) -> Json:
        names = tuple(draft.node_names) or ("none",)
        key, values = draft.dice.pick(((ZONE, ZONES), (HOSTNAME, names)))
        return {} if draft.dice.chance(0.2) else {"matchLabels": {key: draft.dice.pick(values)}}
