"""What we believe of the cluster: nodes and pods as columns.

Law of the package: pure. Events come in, columns change; nothing here decides, waits or talks.
Every change to a row is written to a log, so that whatever is derived from rows can catch up by
recomputing those rows only. Trial changes are undone by rolling back to a checkpoint; nothing is
copied. May import `moorage.api` and numpy, and nothing else of Moorage.
"""
