"""Controllers of the embedded cluster: they create what the real controllers would create.

    controller_manager    runs controllers on what changed, at once or for ever
    standard_controllers  those that every embedded cluster runs
    owned_pods            pods by their owner, as the store has them
    workload_template     a pod from a workload's template
    replica_sets          ReplicaSets and ReplicationControllers
    deployments           Deployments: a ReplicaSet of the current template
    stateful_sets         StatefulSets: ordinals, and a claim for each claim template
    daemon_sets           DaemonSets: a pod for every node that fits
    jobs                  Jobs: as many pods as should run at a time
    volume_binder         the PersistentVolume controller: binds claims to volumes
    volume_provisioner    creates volumes for claims that no volume suits
    resource_claims       ResourceClaims, created from templates
    ephemeral_volumes     claims of generic ephemeral volumes

Law of the package: a controller reads and writes the cluster as any client does. It is called with
the keys of changed objects and is idempotent. No controller waits or reads a clock.
"""
