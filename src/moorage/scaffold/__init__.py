"""A new plugin with everything around it: the class, its test, a configuration, a small cluster.

The law of this package: what it writes runs at once, under pytest and under `moorage simulate`,
and is typed. It answers texts by file name; the command line writes them.
"""

from moorage.scaffold.plugin_project import Names, make

__all__ = ["Names", "make"]
