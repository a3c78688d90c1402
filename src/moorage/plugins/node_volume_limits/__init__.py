"""NodeVolumeLimits: a node attaches no more volumes of a CSI driver than its CSINode allows."""
