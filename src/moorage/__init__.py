"""Moorage: a Kubernetes scheduler that people extend in Python."""
