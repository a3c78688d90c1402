"""Policies that place pods by the load of nodes, as requested or as measured."""
