"""PersistentVolumes, claims, CSI nodes and CSI migration, as the volume plugins share them.

    persistent_volumes  names, classes, owners and binding of volumes and claims
    awaited_claims      which claim a pod waits for
    volume_affinity     which nodes reach a volume
    csi_nodes           CSINode objects as columns
    csi_migration       in-tree volumes as volumes of their CSI driver
    object_changes      objects of a kind that changed since the last look

Law of the package: it only reads; it refuses no node and writes nothing.
"""
