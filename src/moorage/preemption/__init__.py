"""Preemption: room is made for a pod by evicting pods of lower priority."""
