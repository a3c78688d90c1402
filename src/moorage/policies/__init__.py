"""Moorage's own plugins, one file or small package each: what kube-scheduler does not have.

    argument_types           types of arguments that several policies share
    business                 cost, price lists, and what pods are to the business
    compliance               Compliance: regions and security levels that labels demand
    energy_aware             EnergyAware: prefers cool nodes that draw little power
    gpu                      pods and nodes with GPUs
    label_values             numbers in labels and annotations, as columns
    latency_peers            whom a pod talks to
    load                     the load of nodes, as requested or as measured
    network_latency          NetworkLatencyPlugin: near the pods that a pod talks to
    node_affinity_plugin     NodeAffinityPlugin: scores preferred node affinity once more
    scheduling_policies      SchedulingPolicies: SchedulingPolicy documents applied to pods
    scheduling_policy_rules  the documents compiled, and which applies to a pod
    telemetry                measurements that feeds write and policies read
    tenant_isolation         TenantIsolation: keeps a tenant's nodes for its own pods
    app_concentration        AppConcentration: limits how many pods of one application share a node
    cluster_capacity         ClusterCapacity
    reserved_room            ReservedRoom: keeps room free for certain pods

Law of the package: pure, like `moorage.plugins`, and entered by the same door.
"""
