"""kube-scheduler's plugins, one file or folder each, in kube-scheduler's names.

    scheduling_gates        SchedulingGates
    priority_sort           PrioritySort
    node_name               NodeName
    node_unschedulable      NodeUnschedulable
    taint_toleration        TaintToleration
    node_affinity           NodeAffinity
    node_ports              NodePorts
    node_resources          NodeResourcesFit, NodeResourcesBalancedAllocation
    volume_restrictions     VolumeRestrictions
    node_volume_limits      NodeVolumeLimits
    volume_binding          VolumeBinding
    volume_zone             VolumeZone
    volumes                 what the volume plugins share
    pod_topology_spread     PodTopologySpread
    inter_pod_affinity      InterPodAffinity
    image_locality          ImageLocality
    node_declared_features  NodeDeclaredFeatures
    dynamic_resources       DynamicResources
    default_binder          DefaultBinder

Law of the package: a plugin is its arguments, its reasons are constants beside the rule, and its
rule is one pass over columns: no loop over nodes. Exactly what kube-scheduler decides; the
conformance vectors are the judge. Knows `api`, `cache`, `config`, `framework` and
`kernels`; plugins do not know each other. DefaultPreemption is in `moorage.preemption`.
"""
