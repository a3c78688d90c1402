"""Policies for pods and nodes with GPUs."""
