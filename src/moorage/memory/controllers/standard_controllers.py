"""The controllers of every embedded cluster, in the order in which they run."""

from moorage.memory.cluster_resources import REPLICA_SETS, REPLICATION_CONTROLLERS
from moorage.memory.controllers.controller_manager import ControllerClient, ControllerManager
from moorage.memory.controllers.daemon_sets import DaemonSetController
from moorage.memory.controllers.deployments import DeploymentController
from moorage.memory.controllers.ephemeral_volumes import EphemeralVolumeController
from moorage.memory.controllers.jobs import JobController
from moorage.memory.controllers.replica_sets import ReplicaSetController
from moorage.memory.controllers.resource_claims import ResourceClaimController
from moorage.memory.controllers.stateful_sets import StatefulSetController
from moorage.memory.controllers.volume_binder import VolumeBinder
from moorage.memory.controllers.volume_provisioner import VolumeProvisioner
from moorage.memory.memory_cluster import MemoryCluster


def standard_controllers(cluster: MemoryCluster) -> tuple[ControllerManager, ControllerClient]:
    """A manager that has reconciled nothing yet, and the client its controllers use."""
    client = ControllerClient(cluster)
    controllers = (
        DeploymentController(client),
        ReplicaSetController(client, REPLICA_SETS),
        ReplicaSetController(client, REPLICATION_CONTROLLERS),
        StatefulSetController(client),
        DaemonSetController(client),
        JobController(client),
        EphemeralVolumeController(client),
        ResourceClaimController(client),
        VolumeBinder(client),
        VolumeProvisioner(client),
    )
    return ControllerManager(client, controllers), client
