"""Moorage's own plugins, in one explicit table; `moorage.plugins.registry` joins it to the rest."""

from moorage.framework.plugin import Plugin
from moorage.policies.adaptive import AdaptiveSchedulingPlugin
from moorage.policies.business_affinity import BusinessAffinityPlugin
from moorage.policies.business_score import BusinessScorePlugin
from moorage.policies.capacity_scheduling import CapacityScheduling
from moorage.policies.compliance import Compliance
from moorage.policies.coscheduling import Coscheduling
from moorage.policies.cost_optimization import CostOptimizationPlugin
from moorage.policies.energy_aware import EnergyAware
from moorage.policies.fair_share import FairShare
from moorage.policies.gang import GangScheduling
from moorage.policies.gpu_priority import GPUPriorityPlugin
from moorage.policies.gpu_topology import GPUTopology
from moorage.policies.load_balancing import LoadBalancingPlugin
from moorage.policies.low_cpu import LowCpuScheduler
from moorage.policies.network_latency import NetworkLatencyPlugin
from moorage.policies.node_affinity_plugin import NodeAffinityPlugin
from moorage.policies.scheduling_policies import SchedulingPolicies
from moorage.policies.tenant_isolation import TenantIsolation

POLICIES: tuple[type[Plugin], ...] = (
    AdaptiveSchedulingPlugin,
    BusinessAffinityPlugin,
    BusinessScorePlugin,
    CapacityScheduling,
    Compliance,
    Coscheduling,
    CostOptimizationPlugin,
    EnergyAware,
    FairShare,
    GangScheduling,
    GPUPriorityPlugin,
    GPUTopology,
    LoadBalancingPlugin,
    LowCpuScheduler,
    NetworkLatencyPlugin,
    NodeAffinityPlugin,
    SchedulingPolicies,
    TenantIsolation,
)
