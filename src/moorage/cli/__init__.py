"""The command line: parse, call, render.

Law of the package: no decision is taken here. Errors end with one clear message on standard error
and exit code 2 where the input is at fault; no traceback.
"""
