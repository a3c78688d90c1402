"""Pods with claims for devices, and other claims that hold some already."""

from tests.differential.dice import Dice
from tests.differential.draft import Draft, Feature
from tests.differential.features import device_pools
from tests.differential.features.device_pools import CLASS_RESOURCES, GPU, NIC, RESOURCE
from tests.differential.words import Json

SELECTORS = (
    f"device.attributes['{GPU}'].model == 'a100'",
    f"device.attributes['{GPU}'].?model.orValue('') in ['a100', 'h100']",
    f"device.attributes['{GPU}'].?numa.orValue(0) == 0",
    f"device.attributes['{GPU}'].?healthy.orValue(true)",
    f"has(device.attributes['{GPU}'].healthy) && device.attributes['{GPU}'].healthy",
    f"device.capacity['{GPU}'].?memory.orValue(quantity('0')).isGreaterThan(quantity('20Gi'))",
    f"device.attributes['{GPU}'].?driverVersion.orValue(semver('0.0.1')).isGreaterThan(semver('1.9.0'))",
    "!device.allowMultipleAllocations",
    f"'{GPU}' in device.attributes",
    f"cel.bind(a, device.attributes['{GPU}'], "
    "a.?model.orValue('x').startsWith('h') || a.?numa.orValue(9) < 2)",
    f"device.attributes['{GPU}'].?model.orValue('').matches('^[ah]100$')",
    f"['a100', 'l4'].exists(m, m == device.attributes['{GPU}'].?model.orValue(''))",
    "device.attributes['resource.example.org'].?pcieRoot.orValue('') != 'pci-0'",
    f"device.attributes['{GPU}'].?model.orValue(device.attributes['{GPU}'].spare) != 'l4'",
    f"device.attributes['{GPU}'].exists(k, v, k == 'numa' && v == 1)",
    f"device.attributes['{GPU}'].?model.orValue('').find('[0-9]+') in ['100', '4']",
    f"device.attributes['{GPU}'].transformList(k, v, k).sort().first().orValue('') < 'm'",
    f"'%s/%d'.format([device.driver, device.attributes['{GPU}'].?numa.orValue(0)]) == '{GPU}/1'",
    "cidr('10.0.0.0/8').containsIP(device.attributes['resource.example.org']"
    ".?address.orValue('10.1.2.3'))",
    f"device.driver == '{NIC}' ? device.attributes['{NIC}'].speed > 10 : true",
)
ODD_SELECTORS = (
    "device.nonsense == 1",
    "device.driver ==",
    "device.driver",
    "[1, 'a'].size() == 2",
    "ip(device.driver).family() == 4",
    "true || device.driver.matches('[')",
    "device.attributes['gone'].missing",
    f"device.attributes['{GPU}'].model",
    f"device.attributes['{GPU}'].model > 3",
    "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, "
    "[0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, [0,1,2,3,4,5,6,7,8,9].all(f, "
    "a + b + c + d + e + f >= 0))))))",
)


class Devices(Feature):
    """Claims of the pod and of others; classes, slices, partitions, taints and shares."""

    name = "devices"

    def on_node(self, draft: Draft, node: Json) -> None:
        """A few nodes have a device plugin for what classes stand for elsewhere."""
        if draft.dice.chance(0.06):
            resource = draft.dice.pick((RESOURCE, *CLASS_RESOURCES))
            node["status"].setdefault("allocatable", {})[resource] = draft.dice.pick(
                ("0", "2", "4")
            )

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if incoming:
            device_pools.add_classes(draft)
            device_pools.add_pools(draft)
            device_pools.add_taint_rules(draft)
            self._hold_some(draft)
            self._claim(draft, pod)

    def _hold_some(self, draft: Draft) -> None:
        """Claims of others that have some of the devices."""
        dice = draft.dice
        for number, (driver, pool, device) in enumerate(_devices(draft)):
            if dice.chance(0.25):
                held = self._held(dice, driver, pool, device)
                claim = _claim(draft, f"held{number}", "default", [])
                claim["spec"]["devices"]["requests"] = [_request(dice, "r0", "any")]
                claim["status"] = {"allocation": {"devices": {"results": [held]}}}
                draft.add("resourceClaims", claim)

    def _held(self, dice: Dice, driver: str, pool: str, device: Json) -> Json:
        held: Json = {"request": "r0", "driver": driver, "pool": pool, "device": device["name"]}
        if device.get("allowMultipleAllocations") and dice.chance(0.9):
            held["shareID"] = f"00000000-0000-4000-8000-{dice.count(0, 10**12 - 1):012}"
            if device.get("capacity"):
                held["consumedCapacity"] = {"memory": dice.pick(("5Gi", "10Gi", "20Gi"))}
        if dice.chance(0.1):
            held["adminAccess"] = True
        return held

    def _claim(self, draft: Draft, pod: Json) -> None:
        dice, namespace = draft.dice, pod["metadata"]["namespace"]
        if dice.chance(0.2):
            self._extended(dice, pod)
        for number in range(dice.pick((1, 1, 1, 2, 3))):
            name = f"claim{number}"
            entry: Json = {"name": f"c{number}", "resourceClaimName": name}
            claim = _claim(draft, name, namespace, self._requests(dice))
            if dice.chance(0.3):
                claim["spec"]["devices"]["constraints"] = self._constraints(dice, claim)
            if dice.chance(0.2):
                claim["spec"]["devices"]["config"] = self._config(dice, claim)
            if dice.chance(0.15):
                self._allocate(draft, pod, claim)
            if dice.chance(0.25):
                self._generate(dice, pod, entry, claim)
            pod["spec"].setdefault("resourceClaims", []).append(entry)
            if dice.odd(0.1):
                claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
                claim["metadata"]["finalizers"] = ["example.com/keep"]
            if not dice.odd(0.1):
                draft.add("resourceClaims", claim)

    def _generate(self, dice: Dice, pod: Json, entry: Json, claim: Json) -> None:
        """Make the claim one that came of a template."""
        name = entry.pop("resourceClaimName")
        entry["resourceClaimTemplateName"] = "template"
        if not dice.odd(0.2):
            status: Json = {"name": entry["name"], "resourceClaimName": name}
            pod["status"].setdefault("resourceClaimStatuses", []).append(status)
        uid = pod["metadata"]["uid"] if not dice.odd(0.2) else "another"
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": uid}
        claim["metadata"]["ownerReferences"] = [{**owner, "controller": True}]

    def _requests(self, dice: Dice) -> list[Json]:
        return [_some_request(dice, f"r{number}") for number in range(dice.pick((1, 1, 2, 3)))]

    def _constraints(self, dice: Dice, claim: Json) -> list[Json]:
        attribute = dice.pick(
            ("resource.example.org/pcieRoot", f"{GPU}/numa", f"{GPU}/model", f"{GPU}/healthy")
        )
        kind = dice.pick(("matchAttribute", "matchAttribute", "distinctAttribute"))
        made: Json = {kind: attribute}
        names = [request["name"] for request in claim["spec"]["devices"]["requests"]]
        if dice.chance(0.4):
            made["requests"] = dice.some(names, 1, len(names))
        return [made] if not dice.odd(0.05) else [{}]

    def _config(self, dice: Dice, claim: Json) -> list[Json]:
        names = [request["name"] for request in claim["spec"]["devices"]["requests"]]
        subs = [
            f"{request['name']}/{sub['name']}"
            for request in claim["spec"]["devices"]["requests"]
            for sub in request.get("firstAvailable", ())
        ]
        made: Json = {"opaque": {"driver": GPU, "parameters": {"mode": dice.pick(("a", "b"))}}}
        if dice.chance(0.6):
            made["requests"] = dice.some(names + subs, 1, 2)
        return [made]

    def _allocate(self, draft: Draft, pod: Json, claim: Json) -> None:
        """Let the claim have its devices already, for this pod, for others or for nobody."""
        dice = draft.dice
        offered = list(_devices(draft))
        if not offered:
            return
        driver, pool, device = dice.pick(offered)
        request = claim["spec"]["devices"]["requests"][0]
        name = request["name"]
        if request.get("firstAvailable"):
            name += "/" + dice.pick(request["firstAvailable"])["name"]
        result = {"request": name, "driver": driver, "pool": pool, "device": device["name"]}
        for conditions in ("bindingConditions", "bindingFailureConditions"):
            if conditions in device:
                result[conditions] = device[conditions]
        allocation: Json = {"devices": {"results": [result]}}
        if dice.chance(0.8):
            field = {"key": "metadata.name", "operator": "In", "values": [pool]}
            allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        if "bindingConditions" in device and dice.chance(0.7):
            allocation["allocationTimestamp"] = "2026-01-01T00:00:00Z"
            condition = dice.pick(("example.com/ready", "example.com/failed"))
            reported: Json = {"type": condition, "status": dice.pick(("True", "False"))}
            reported |= {"reason": "r", "message": "m", "lastTransitionTime": None}
            claim.setdefault("status", {})["devices"] = [
                {"driver": driver, "pool": pool, "device": device["name"], "conditions": [reported]}
            ]
        status = claim.setdefault("status", {})
        status["allocation"] = allocation
        users = {
            "resource": "pods",
            "name": "x",
            "uid": dice.pick((pod["metadata"]["uid"], "other")),
        }
        status["reservedFor"] = [users] if dice.chance(0.7) else []

    def _extended(self, dice: Dice, pod: Json) -> None:
        resource = dice.pick((RESOURCE, RESOURCE, *CLASS_RESOURCES))
        count = str(dice.count(1, 2))
        spec = pod["spec"]
        container = dice.pick((*spec["containers"], *spec.get("initContainers", ())))
        asked = container.setdefault("resources", {})
        asked.setdefault("requests", {})[resource] = count
        asked.setdefault("limits", {})[resource] = count


def _devices(draft: Draft) -> list[tuple[str, str, Json]]:
    return [
        (slice_["spec"]["driver"], slice_["spec"]["pool"]["name"], device)
        for slice_ in draft.all("resourceSlices")
        for device in slice_["spec"].get("devices", ())
        if not slice_["metadata"]["name"].startswith("old")
    ]


def _claim(draft: Draft, name: str, namespace: str, requests: list[Json]) -> Json:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"}
    return {"metadata": metadata, "spec": {"devices": {"requests": requests}}}


def _some_request(dice: Dice, name: str) -> Json:
    if dice.chance(0.2):
        alternatives = [_sub(dice, f"s{number}") for number in range(dice.count(2, 3))]
        return {"name": name, "firstAvailable": alternatives}
    return _request(dice, name, dice.either(("gpu", "gpu", "nic", "any", "big"), ("gone",)))


def _request(dice: Dice, name: str, cls: str) -> Json:
    exact = _sub(dice, "", cls)
    del exact["name"]
    if dice.chance(0.05):
        exact["adminAccess"] = True
    return {"name": name, "exactly": exact}


def _sub(dice: Dice, name: str, cls: str = "") -> Json:
    made: Json = {"name": name, "deviceClassName": cls or dice.pick(("gpu", "nic", "any", "big"))}
    if dice.chance(0.12):
        made["allocationMode"] = "All"
    else:
        made["allocationMode"] = "ExactCount"
        made["count"] = dice.either((1, 1, 1, 2, 2, 3), (4, 33))
    if dice.chance(0.5):
        chosen = [
            dice.either(SELECTORS, ODD_SELECTORS) if dice.chance(0.15) else dice.pick(SELECTORS)
        ]
        made["selectors"] = [{"cel": {"expression": each}} for each in chosen]
    if dice.chance(0.2):
        made["tolerations"] = [
            dice.pick(
                (
                    {"operator": "Exists"},
                    {"key": "broken", "operator": "Exists", "effect": "NoSchedule"},
                    {"key": "old", "operator": "Equal", "value": "yes"},
                )
            )
        ]
    if dice.chance(0.15):
        made["capacity"] = {
            "requests": {"memory": dice.pick(("1Gi", "7Gi", "10Gi", "30Gi", "100Gi"))}
        }
    return made
