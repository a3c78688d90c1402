"""What happened, for whoever wants to know: decision records, metrics, logs.

Law of the package: watching changes nothing. An observer that fails is switched off and named.
"""
