"""For tests of plugins: pods and nodes in one line, an attempt in another.

    builders       pods and nodes, built step by step
    plugin_check   checks of a plugin class, with a trial run
    scheduler_run  the whole scheduler, in virtual time
    small_cluster  a small cluster, and attempts at it

    cluster = Cluster(node("a").labelled(zone="x"), node("b"), plugins=[MyPlugin(home="x")])
    assert cluster.place(pod("web").requesting(cpu="500m")) == "a"
    assert cluster.why_not(pod("huge").requesting(cpu="99")) == "0/2 nodes are available: ..."

    assert schedule(node("a"), pod("web"), plugins=[MyPlugin()]).nodes == {"web": "a"}

Law of the package: the engine is the real one, so results in a test hold on a cluster.
"""

from moorage.testing.builders import NodeBuilder, PodBuilder, node, pod
from moorage.testing.scheduler_run import Scheduled, schedule
from moorage.testing.small_cluster import Cluster, attempt

__all__ = [
    "Cluster",
    "NodeBuilder",
    "PodBuilder",
    "Scheduled",
    "attempt",
    "node",
    "pod",
    "schedule",
]
