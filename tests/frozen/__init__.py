"""Frozen outcomes: where every example, scenario and kind of bench puts its pods, by seed.

    stories        what is played, and what is written down of it
    outcomes.json  the hash of each outcome
    __main__       plays everything anew, and prints what has changed (`make frozen`)

A hash here changes only in a commit that says why decisions, or calls of the API, are others now.
"""
