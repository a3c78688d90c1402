"""NodeVolumeLimits: a node attaches no more volumes of a CSI driver than its CSINode allows.

    plugin              the filter, and the events that may help
    attachable_volumes  the CSI driver and volume handle behind each of a pod's volumes
    attached_volumes    how many volumes of each driver every node has attached

Law of the package: an upper bound decides if it can; the volumes of a node are counted exactly only
if its bound does not decide.
"""
