"""Why here, why not there: what an attempt would decide, told in full.

Law of the package: asks the same engine that schedules, changes nothing.
"""
