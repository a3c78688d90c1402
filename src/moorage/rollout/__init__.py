"""Rollouts: canaries of a profile, and standing in for a scheduler that is gone."""
