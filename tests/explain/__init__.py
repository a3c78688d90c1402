"""Puzzles: clusters in which a pod waits, and what a good engineer would answer."""
