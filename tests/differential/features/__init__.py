"""Every feature, by name, in the order in which they are applied."""

from tests.differential.draft import Feature
from tests.differential.features.affinity import NodeAffinity, NodeSelector
from tests.differential.features.amounts import Extended, Quantities, Starved
from tests.differential.features.backed import Backed
from tests.differential.features.declared import DeclaredFeatures
from tests.differential.features.devices import Devices
from tests.differential.features.gated_devices import GatedDevices
from tests.differential.features.images import Images
from tests.differential.features.limits import Disks, Limits
from tests.differential.features.lives import Lives
from tests.differential.features.names import NodeNames
from tests.differential.features.neighbours import InterPod, InterPodArgs, Namespaces
from tests.differential.features.podsums import Overhead, PodLevel, Resize, Sidecars
from tests.differential.features.ports import Ports
from tests.differential.features.preemption import Budgets, Nominated, Priorities
from tests.differential.features.profiles import Arguments, Profiles
from tests.differential.features.scoring import Balanced, Fit
from tests.differential.features.spread import Owners, Spread, SpreadArgs
from tests.differential.features.taints import Taints, Unschedulable
from tests.differential.features.volumes import Volumes

FEATURES: dict[str, Feature] = {
    feature.name: feature
    for feature in (
        Quantities(),
        Extended(),
        Starved(),
        Sidecars(),
        Overhead(),
        PodLevel(),
        NodeNames(),
        Resize(),
        Lives(),
        NodeSelector(),
        NodeAffinity(),
        Taints(),
        Unschedulable(),
        Ports(),
        Images(),
        DeclaredFeatures(),
        Namespaces(),
        InterPod(),
        InterPodArgs(),
        Spread(),
        Owners(),
        SpreadArgs(),
        Volumes(),
        Disks(),
        Limits(),
        Devices(),
        GatedDevices(),
        Backed(),
        Priorities(),
        Budgets(),
        Nominated(),
        Fit(),
        Balanced(),
        Arguments(),
        Profiles(),
    )
}
