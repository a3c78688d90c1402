"""Images on nodes, under several names, with and without tags and digests."""

from tests.differential.dice import Dice
from tests.differential.draft import Draft, Feature
from tests.differential.words import Json

DIGEST = "@sha256:" + "ab" * 32
NAMES = (
    "nginx:1.25",
    "nginx",
    "nginx:latest",
    "docker.io/library/nginx:latest",
    "redis:7",
    "registry.local/ml/train:v3",
    "registry.local:5000/ml/train",
    "registry.local:5000/ml/train:latest",
    f"registry.local/ml/train{DIGEST}",
    f"busybox:1{DIGEST}",
    "busybox",
)
ODD_NAMES = ("", ":", "UPPER:Tag", "a/b:", "x" * 200)
SIZES = (1, 5_000_000, 23 * 1024 * 1024, 150_000_000, 800_000_000, 1_800_000_000, 30_000_000_000)
ODD_SIZES = (0, -1, -5_000_000_000, 9223372036854775807)


def name(dice: Dice) -> str:
    return dice.either(NAMES, ODD_NAMES)


def image(dice: Dice) -> Json:
    return {
        "names": [name(dice) for _ in range(dice.pick((1, 1, 2, 3)))],
        "sizeBytes": dice.either(SIZES, ODD_SIZES),
    }


class Images(Feature):
    """Nodes hold some images; the pod's containers and volumes want some."""

    name = "images"

    def on_node(self, draft: Draft, node: Json) -> None:
        if draft.dice.chance(0.8):
            many = draft.dice.count(1, 5)
            node["status"]["images"] = [image(draft.dice) for _ in range(many)]

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        dice, spec = draft.dice, pod["spec"]
        if not incoming:
            return
        if dice.chance(0.3):
            spec["initContainers"] = [{"name": "fetch", "image": "", "resources": {}}]
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            container["image"] = name(dice)
        if dice.chance(0.2):
            source = {"name": "data", "image": {"reference": name(dice)}}
            spec.setdefault("volumes", []).append(source)
