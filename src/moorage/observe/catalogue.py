"""Every metric: its name, kind, labels and buckets.

`scheduler_*` metrics have kube-scheduler's names, labels, buckets and stability, so that dashboards
and alerts written for it go on working. `moorage_*` metrics are ours.
"""

from typing import Final, Literal

import msgspec

Kind = Literal["counter", "gauge", "histogram"]
Stability = Literal["STABLE", "BETA", "ALPHA", "moorage"]


class Metric(msgspec.Struct, frozen=True):
    """One metric; counters are named without `_total`, which the text format adds."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    stability: Stability = "moorage"


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """`count` upper bounds, each `factor` times the one before, multiplied up as Go does."""
    bounds, bound = [], start
    for _ in range(count):
        bounds.append(bound)
        bound *= factor
    return tuple(bounds)


_MS: Final = exponential(0.001, 2, 15)
_POINT: Final = exponential(0.0001, 2, 12)
FINE: Final = (*(0.0001 / 2**k for k in range(5, 0, -1)), *_POINT)
"""The buckets of extension points and five finer ones: an attempt here takes microseconds."""
SLI_ATTEMPTS: Final = 15
"""From this many attempts on, pods are counted together as `15+`."""

_P = ("profile",)
_RP = ("result", "profile")

SCHEDULE_ATTEMPTS: Final = Metric(
    "scheduler_schedule_attempts",
    "counter",
    "Attempts to schedule a pod, by result; 'unschedulable': no node fits, 'error': something "
    "broke. A pod counts as scheduled when it is bound.",
    _RP,
    stability="STABLE",
)
ATTEMPT_DURATION: Final = Metric(
    "scheduler_scheduling_attempt_duration_seconds",
    "histogram",
    "Seconds an attempt took, binding included.",
    _RP,
    _MS,
    "STABLE",
)
PREEMPTION_VICTIMS: Final = Metric(
    "scheduler_preemption_victims",
    "histogram",
    "Victims chosen for one preempting pod.",
    (),
    exponential(1, 2, 7),
    "STABLE",
)
PREEMPTION_ATTEMPTS: Final = Metric(
    "scheduler_preemption_attempts",
    "counter",
    "Attempts of DefaultPreemption to make room for a pod.",
    stability="STABLE",
)
PENDING_PODS: Final = Metric(
    "scheduler_pending_pods",
    "gauge",
    "Pods that wait, by queue: active, backoff, unschedulable (attempted, and fit nowhere), gated "
    "(never attempted).",
    ("queue",),
    stability="STABLE",
)
POD_ATTEMPTS: Final = Metric(
    "scheduler_pod_scheduling_attempts",
    "histogram",
    "Attempts it took to schedule a pod.",
    (),
    exponential(1, 2, 5),
    "STABLE",
)
POINT_DURATION: Final = Metric(
    "scheduler_framework_extension_point_duration_seconds",
    "histogram",
    "Seconds all plugins of an extension point took.",
    ("extension_point", "status", "profile"),
    _POINT,
    "STABLE",
)
QUEUE_INCOMING: Final = Metric(
    "scheduler_queue_incoming_pods",
    "counter",
    "Pods that came to a queue, by the event that brought them.",
    ("queue", "event"),
    stability="STABLE",
)
ALGORITHM_DURATION: Final = Metric(
    "scheduler_scheduling_algorithm_duration_seconds",
    "histogram",
    "Seconds it took to decide.",
    (),
    _MS,
    "BETA",
)
GOROUTINES: Final = Metric(
    "scheduler_goroutines",
    "gauge",
    "Tasks under way, by what they do.",
    ("operation",),
    stability="BETA",
)
SLI_DURATION: Final = Metric(
    "scheduler_pod_scheduling_sli_duration_seconds",
    "histogram",
    "Seconds from when a pod was first ready to be attempted until it was bound.",
    ("attempts",),
    exponential(0.01, 2, 20),
    "BETA",
)
PLUGIN_DURATION: Final = Metric(
    "scheduler_plugin_execution_duration_seconds",
    "histogram",
    "Seconds one plugin took at one extension point, in one attempt of ten; at Filter and Score "
    "over all nodes.",
    ("plugin", "extension_point", "status"),
    exponential(0.00001, 1.5, 20),
    "BETA",
)
PERMIT_WAIT: Final = Metric(
    "scheduler_permit_wait_duration_seconds",
    "histogram",
    "Seconds pods waited for permission.",
    ("result",),
    _MS,
    "BETA",
)
UNSCHEDULABLE_PODS: Final = Metric(
    "scheduler_unschedulable_pods",
    "gauge",
    "Waiting pods that a plugin refused; a pod counts for every plugin that refused it.",
    ("plugin", "profile"),
    stability="BETA",
)
PLUGIN_EVALUATIONS: Final = Metric(
    "scheduler_plugin_evaluation",
    "counter",
    "Attempts in which a plugin was asked at PreFilter, Filter, PreScore or Score; a pass over all "
    "nodes counts once.",
    ("plugin", "extension_point", "profile"),
    stability="BETA",
)
CACHE_SIZE: Final = Metric(
    "scheduler_cache_size",
    "gauge",
    "Nodes, pods and assumed pods in the cache.",
    ("type",),
    stability="ALPHA",
)
INFLIGHT_EVENTS: Final = Metric(
    "scheduler_inflight_events",
    "gauge",
    "Events kept for pods that are being attempted.",
    ("event",),
    stability="ALPHA",
)
AFTER_FLUSH: Final = Metric(
    "scheduler_pod_scheduled_after_flush",
    "counter",
    "Pods scheduled after nothing but time had brought them back: a sign of a missing queueing "
    "hint.",
    stability="ALPHA",
)
_CLIENT: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
CLIENT_REQUESTS: Final = Metric(
    "rest_client_requests",
    "counter",
    "Requests to the API server, by status code, host and method.",
    ("code", "host", "method"),
    stability="ALPHA",
)
CLIENT_DURATION: Final = Metric(
    "rest_client_request_duration_seconds",
    "histogram",
    "Seconds requests to the API server took; of a watch, until its first byte.",
    ("host", "verb"),
    _CLIENT,
    "ALPHA",
)
CLIENT_WAIT: Final = Metric(
    "rest_client_rate_limiter_duration_seconds",
    "histogram",
    "Seconds requests to the API server waited for their turn, by clientConnection.qps and burst.",
    ("host", "verb"),
    _CLIENT,
    "ALPHA",
)
UNREADABLE_OBJECTS: Final = Metric(
    "moorage_unreadable_objects",
    "counter",
    "Versions of objects that were left out because they cannot be read; the log names each.",
    ("resource",),
)

BUILD_INFO: Final = Metric(
    "moorage_build_info",
    "gauge",
    "What runs: Moorage's version, Python's, and that of the kube-scheduler it decides as; always "
    "1.",
    ("version", "python", "kube_version"),
)
FEASIBLE_NODES: Final = Metric(
    "moorage_feasible_nodes",
    "histogram",
    "Nodes that passed every filter, by attempt; 0 where none did.",
    _P,
    (0.0, *exponential(1, 2, 14)),
)
CLUSTER_ALLOCATABLE: Final = Metric(
    "moorage_cluster_allocatable",
    "gauge",
    "What all nodes have to give, in cores, bytes or pieces.",
    ("resource",),
)
CLUSTER_REQUESTED: Final = Metric(
    "moorage_cluster_requested",
    "gauge",
    "What the pods on all nodes ask for, in cores, bytes or pieces.",
    ("resource",),
)
NODE_UTILISATION: Final = Metric(
    "moorage_node_utilisation_ratio",
    "gauge",
    "How much of a node is asked for, over the nodes that have the resource: min, p50, p90, max "
    "and mean.",
    ("resource", "stat"),
)
SCHEDULER_LATENCY: Final = Metric(
    "moorage_scheduler_latency_seconds",
    "histogram",
    "Seconds from a pod's arrival in the queue until it was bound, all waiting included.",
    _P,
    exponential(0.01, 2, 20),
)
DECISION_DURATION: Final = Metric(
    "moorage_decision_duration_seconds",
    "histogram",
    "Seconds a step of deciding took, in finer buckets than those of extension points.",
    ("step", "profile"),
    FINE,
)
NOMINATED_PODS: Final = Metric(
    "moorage_nominated_pods", "gauge", "Pods that were promised a node and are not on it yet."
)
NOMINATION_DURATION: Final = Metric(
    "moorage_nomination_duration_seconds",
    "histogram",
    "Seconds from when a pod was promised a node until it was bound.",
    (),
    exponential(0.1, 2, 14),
)
EVICTIONS: Final = Metric(
    "moorage_evictions",
    "counter",
    "Victims of preemption, by way (deletion, eviction, memory: it only waited for permission) and "
    "result (evicted, gone: it was gone already, failed).",
    ("way", "result"),
)
VICTIMS_LEAVING: Final = Metric(
    "moorage_victims_leaving", "gauge", "Victims that are being evicted and are not gone yet."
)
NOMINATIONS_GIVEN_UP: Final = Metric(
    "moorage_nominations_given_up",
    "counter",
    "Promises of a node that had not come true after nominationSeconds and were taken back.",
)
LOOPS_CUT: Final = Metric(
    "moorage_preemption_loops_cut",
    "counter",
    "Circles of evictions that were cut: pods of one owner evicted pods of another again and "
    "again. The PreemptionLoop event names both.",
)
PAIRS_STOPPED: Final = Metric(
    "moorage_preemption_pairs_stopped",
    "gauge",
    "Pairs of owners whose pods may not evict each other's for now, because they went in a circle.",
)
DISRUPTIONS_SPENT: Final = Metric(
    "moorage_disruptions_spent",
    "gauge",
    "Disruptions that evictions took from PodDisruptionBudgets whose status does not show it yet.",
)
DISRUPTIONS_EXPIRED: Final = Metric(
    "moorage_disruptions_expired",
    "counter",
    "Disruptions that evictions took from PodDisruptionBudgets whose status has not shown them "
    "for a minute; the disruption controller is behind.",
)
NODES_RESTING: Final = Metric(
    "moorage_nodes_resting",
    "gauge",
    "Nodes left alone for a while because their kubelet rejected a pod that was bound to them.",
)
REJECTIONS: Final = Metric(
    "moorage_node_rejections", "counter", "Pods of ours that a kubelet rejected after binding."
)
PLUGIN_ERRORS: Final = Metric(
    "moorage_plugin_errors",
    "counter",
    "Exceptions plugins raised, each of which costs an attempt at most.",
    ("plugin", "extension_point"),
)
LEFT_OUT: Final = Metric(
    "moorage_objects_left_out",
    "counter",
    "Nodes and pods that some reader could not take and left out alone; the log names each once.",
)
KERNEL_REFUSALS: Final = Metric(
    "moorage_kernel_refusals",
    "counter",
    "How often a compiled kernel refused its columns and its numpy form did the work: slower, and "
    "with the same result.",
    ("kernel",),
)
BREAKER_STATE: Final = Metric(
    "moorage_plugin_breaker_state",
    "gauge",
    "Whether a custom plugin is asked: 0 it is, 1 it is on trial, 2 it is switched off.",
    ("plugin", "profile"),
)
BREAKER_TRIPS: Final = Metric(
    "moorage_plugin_breaker_trips",
    "counter",
    "How often a custom plugin was switched off.",
    ("plugin", "profile"),
)
GUARD_FAILURES: Final = Metric(
    "moorage_plugin_failures",
    "counter",
    "Failures of custom plugins; reason: raised, deadline, answer, mutation.",
    ("plugin", "extension_point", "profile", "reason"),
)
GUARD_LEFT_OUT: Final = Metric(
    "moorage_plugin_left_out",
    "counter",
    "Calls that a custom plugin was spared, or that failed at once, while it was switched off.",
    ("plugin", "profile"),
)
GUARD_CALLS: Final = Metric(
    "moorage_plugin_calls",
    "counter",
    "Calls of the hooks of custom plugins; a pass over all nodes counts once.",
    ("plugin", "extension_point", "profile"),
)
GUARD_SECONDS: Final = Metric(
    "moorage_plugin_seconds",
    "counter",
    "Seconds spent in the hooks of custom plugins, every call counted.",
    ("plugin", "extension_point", "profile"),
)
EXTENDER_CALLS: Final = Metric(
    "moorage_extender_call_duration_seconds",
    "histogram",
    "Seconds a call to an extender took, by its URL, the verb and the result: success, error or "
    "timeout.",
    ("extender", "verb", "result"),
    _MS,
)
ERRORS: Final = Metric(
    "moorage_errors",
    "counter",
    "What went wrong beside attempts: watch/pods, or the name of the error.",
    ("kind",),
)
EVENTS_SENT: Final = Metric("moorage_events_sent", "counter", "Events the API server has taken.")
EVENTS_DROPPED: Final = Metric(
    "moorage_events_dropped", "counter", "Events given up because the API server did not take them."
)
GENERATION: Final = Metric(
    "moorage_config_generation",
    "gauge",
    "How often a configuration was put in force; the first is 1.",
)
CONFIGURATION_INFO: Final = Metric(
    "moorage_config_info",
    "gauge",
    "The configuration in force, by its digest; always 1.",
    ("digest",),
)
CONFIG_RELOADS: Final = Metric(
    "moorage_config_reloads",
    "counter",
    "Configurations read again, by result; 'success': in force, 'refused': something was wrong and "
    "the one before stays, 'unchanged': it says the same.",
    ("result",),
)
CONFIG_REFUSED: Final = Metric(
    "moorage_config_refused",
    "gauge",
    "1 while what was read last is not in force, because something is wrong with it.",
)
VERSION_ATTEMPTS: Final = Metric(
    "moorage_version_attempts",
    "counter",
    "Attempts to schedule a pod of a profile that has a canary, by result and version.",
    ("result", "profile", "version"),
)
VERSION_DURATION: Final = Metric(
    "moorage_version_attempt_duration_seconds",
    "histogram",
    "Seconds an attempt took, binding included, at a pod of a profile that has a canary.",
    ("result", "profile", "version"),
    _MS,
)
CANARY_PERCENT: Final = Metric(
    "moorage_canary_percent",
    "gauge",
    "The share of a profile's pods that a canary decides for; 0 once it was given up.",
    ("profile", "version"),
)
VERSION_KPI: Final = Metric(
    "moorage_version_kpi",
    "gauge",
    "A KPI of the pods of a version that were compared, as of the last look at its canary.",
    ("profile", "version", "kpi"),
)
CANARY_P_VALUE: Final = Metric(
    "moorage_canary_p_value",
    "gauge",
    "The chance that a canary looks as bad, by a KPI, where it does nothing else than the stable"
    " version does.",
    ("profile", "version", "kpi"),
)
COMPARED_PODS: Final = Metric(
    "moorage_canary_compared",
    "gauge",
    "Pods, or owners, of a version by which a canary is compared.",
    ("profile", "version"),
)
CANARY_ROLLBACKS: Final = Metric(
    "moorage_canary_rollbacks",
    "counter",
    "Canaries given up because they did worse than they may.",
    ("profile", "version"),
)
ACTIVE: Final = Metric(
    "moorage_active", "gauge", "1 where this replica schedules, 0 where it stands by."
)
STANDING_IN: Final = Metric(
    "moorage_standing_in",
    "gauge",
    "1 while this replica takes the pods of another scheduler, whose Lease is expired.",
    ("scheduler",),
)
BOUND_BY_OTHERS: Final = Metric(
    "moorage_bound_by_others",
    "counter",
    "Pods of a scheduler name of ours that waited and were bound by somebody else: a second "
    "scheduler of that name, most likely.",
    ("scheduler",),
)
YIELDED: Final = Metric(
    "moorage_yielded",
    "counter",
    "Attempts put off for a moment, because a pod of a scheduler that goes first was waiting.",
    ("scheduler",),
)
SYNCED: Final = Metric("moorage_synced", "gauge", "1 once every resource has been listed.")
UP_TO_DATE: Final = Metric(
    "moorage_up_to_date",
    "gauge",
    "0 while a leader makes sure that it knows what the API server holds, and attempts nothing.",
)
CATCH_UP_DURATION: Final = Metric(
    "moorage_catch_up_duration_seconds",
    "histogram",
    "Seconds that took, by reason: lead (the lease was taken), watch (one failed), silence (of a "
    "watch), standstill (of this process).",
    ("reason",),
    exponential(0.01, 2, 14),
)
FOLLOWED: Final = Metric(
    "moorage_followed_objects", "gauge", "Objects known, by resource.", ("resource",)
)
OBSERVERS_OFF: Final = Metric(
    "moorage_observers_switched_off", "gauge", "Observers that failed and are not called any more."
)
LOOP_LAG: Final = Metric(
    "moorage_loop_lag_seconds",
    "gauge",
    "The longest the event loop kept a timer waiting since the last scrape.",
)
FEED_AGE: Final = Metric(
    "moorage_feed_age_seconds",
    "gauge",
    "Seconds since a feed was last read, or since it was first tried.",
    ("feed",),
)
FEED_READS: Final = Metric(
    "moorage_feed_reads",
    "counter",
    "How often a feed was read, by result: read, failed.",
    ("feed", "result"),
)
STRATEGY_WEIGHT: Final = Metric(
    "moorage_strategy_weight",
    "gauge",
    "What a resource weighs for the pods of a namespace, by the strategy in force and its goal.",
    ("profile", "namespace", "goal", "resource"),
)
NAMESPACE_COST: Final = Metric(
    "moorage_namespace_cost_per_hour",
    "gauge",
    "What the pods of a namespace cost per hour on the nodes they are on.",
    ("namespace",),
)
SCALING_HINT: Final = Metric(
    "moorage_scaling_hint_nodes",
    "gauge",
    "Nodes that would have to be added for the pods that wait for room, by type and zone; where no "
    "type is large enough, the type is empty.",
    ("instance_type", "zone"),
)
DASHBOARD_VIEWERS: Final = Metric(
    "moorage_dashboard_viewers", "gauge", "Viewers of the dashboard that are sent what changes."
)
DASHBOARD_SNAPSHOTS: Final = Metric(
    "moorage_dashboard_snapshots",
    "counter",
    "How often viewers of the dashboard were told to fetch all anew instead of what changed.",
)

CATALOGUE: Final[tuple[Metric, ...]] = tuple(
    value for value in list(globals().values()) if isinstance(value, Metric)
)
"""Every metric, in the order of this file."""
