"""Moorage's own plugins, which kube-scheduler does not have; one file or small package each.

    argument_types           types of arguments that several policies share
    business                 cost, price lists, and how pods and nodes rank for the business
    compliance               Compliance: regions and security levels that labels demand
    energy_aware             EnergyAware: prefers cool nodes that draw little power
    gpu                      pods and nodes with GPUs
    label_values             numbers in labels and annotations, as columns
    latency_peers            the pods that a pod talks to
    load                     the load of nodes, as requested or as measured
    network_latency          NetworkLatencyPlugin: prefers nodes near the pods that a pod talks to
    node_affinity_plugin     NodeAffinityPlugin: scores preferred node affinity once more
    scheduling_policies      SchedulingPolicies: SchedulingPolicy documents applied to pods
    scheduling_policy_rules  the documents compiled, and the choice of the one for a pod
    telemetry                measurements that feeds write and policies read
    tenant_isolation         TenantIsolation: keeps a tenant's nodes for its own pods
    app_concentration        AppConcentration: limits how many pods of one application share a node
    cluster_capacity         ClusterCapacity: refuses a pod that exceeds the cluster's totals
    reserved_room            ReservedRoom: keeps room free for certain pods

Law of the package: pure, like `moorage.plugins`, and loaded in the same way.
"""
