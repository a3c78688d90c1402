"""Features that nodes declare and pods need."""

from tests.differential.draft import Draft, Feature
from tests.differential.words import Json

KNOWN = (
    "ExtendWebSocketsToKubelet",
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
    "VolumeBindMountOptions",
)


class DeclaredFeatures(Feature):
    """Some nodes declare some features, in and out of order."""

    name = "declared"

    def on_node(self, draft: Draft, node: Json) -> None:
        declared = draft.dice.some((*KNOWN, "Unheard"), 0, 5)
        node["status"]["declaredFeatures"] = declared if draft.dice.odd() else sorted(declared)

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        dice, spec = draft.dice, pod["spec"]
        if not incoming:
            return
        container = dice.pick((*spec["containers"], *spec.get("initContainers", ())))
        if dice.chance(0.4):
            action = dice.pick(("RestartAllContainers", "Restart"))
            container["restartPolicyRules"] = [{"action": action}]
        if dice.chance(0.4):
            spec["hostUsers"] = dice.chance(0.3)
            spec["hostNetwork"] = dice.chance(0.7)
        if dice.chance(0.4):
            options = dice.pick(([], ["noexec"]))
            container["volumeMounts"] = [{"name": "v", "bindMountOptions": options}]
