"""One attempt, step by step: where does this pod go?

    profile      which plugins run at which point, with which weights
    filtering    PreFilter, then Filter over all nodes; who refused whom
    scoring      PreScore, Score, NormalizeScore, weights
    selecting    the best node, ties broken at random
    attempt      the steps in order
    preempting   what would make room

Law of the package: pure and synchronous. An attempt is one call with no `await` in it, so it needs
no lock and no snapshot: nothing changes under it. Time, randomness and clients are handed in.
"""
