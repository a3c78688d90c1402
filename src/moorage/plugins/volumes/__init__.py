"""PersistentVolumes, claims, CSI nodes and CSI migration, as the volume plugins share them."""
