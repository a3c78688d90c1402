"""Measurements that feeds write and policies read: usage, energy, network latency."""
