"""Feeds: measurements that policies use and no watch delivers, read periodically.

Law of the package: a feed reads one source and hands what it read to the stores of every profile
whose plugins asked for it (`policies.telemetry.metric_sources`). A feed that fails is tried again;
it never stops scheduling, since policies trust old measurements less and less. How old they are is
a metric.
It may import what policies may, the surface of API servers (`watch`) and `observe`; it decides
nothing.
"""
