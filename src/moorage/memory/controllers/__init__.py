"""Controllers of the embedded cluster: they make what the real ones would make.

    controller_manager    runs controllers on what changed, at once or for ever
    standard_controllers  those that every embedded cluster runs
    owned_pods            pods by their owner, as the store has them
    workload_template     a pod from a workload's template
    replica_sets          ReplicaSets and ReplicationControllers
    deployments           Deployments: a ReplicaSet of the current template
    stateful_sets         StatefulSets: ordinals, and a claim for each claim template
    daemon_sets           DaemonSets: a pod for every node that fits
    jobs                  Jobs: as many pods as are to run at a time
    volume_binder         the PersistentVolume controller: claims and volumes find each other
    volume_provisioner    makes volumes for claims that none suits
    resource_claims       claims for devices, made from templates
    ephemeral_volumes     claims of generic ephemeral volumes

Law of the package: a controller reads and writes the cluster as anybody does, is called with what
changed, and comes to the same end however often it is called. None waits or looks at a clock.
"""
