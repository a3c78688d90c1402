"""Observers of a scheduler: decision records, metrics and logs.

    records, observers        what is told, and to whom
    timing, timed             how long each step and plugin took
    catalogue, tallies        every metric, and how it is counted
    gathering, metrics        what is read off a scheduler; all of it, for Prometheus
    decisions, logs           one line per decision; where all lines go
    log_formats, log_writer   how a line looks; the thread that writes it

Law of the package: watching changes nothing. An observer that fails is switched off and named. What
is told of every attempt costs microseconds; whatever costs more is done when somebody looks, or in
a thread of its own.
"""
