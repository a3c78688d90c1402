"""Moorage's own plugins, in one explicit table; `moorage.plugins.registry` joins it to the rest."""

from moorage.framework.plugin import Plugin
from moorage.policies.business_affinity import BusinessAffinityPlugin
from moorage.policies.business_score import BusinessScorePlugin
from moorage.policies.cost_optimization import CostOptimizationPlugin
from moorage.policies.gang import GangScheduling
from moorage.policies.gpu_priority import GPUPriorityPlugin
from moorage.policies.load_balancing import LoadBalancingPlugin

POLICIES: tuple[type[Plugin], ...] = (
    BusinessAffinityPlugin,
    BusinessScorePlugin,
    CostOptimizationPlugin,
    GangScheduling,
    GPUPriorityPlugin,
    LoadBalancingPlugin,
)
