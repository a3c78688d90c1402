"""Composition: configuration becomes profiles, profiles a scheduler, a scheduler a process."""
