"""Do the tests bite? A sample of small changes to the source, each of which a test should notice.

`make mutants SEED=1 MUTANTS=300`: the source is changed in one place, in memory; the tests that
reach the place run, quickest first, until one fails. What none notices is printed as a survivor.
"""
