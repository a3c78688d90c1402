"""Creates a new plugin: the class, its test, a configuration and a small cluster.

    hook_samples    a sample hook for each extension point, with its imports
    plugin_project  the files of a new plugin, and its name as class, module and package
    templates       the texts of a new plugin, with placeholders for its names

Law of the package: what it creates runs at once, under pytest and under `moorage simulate`, and is
typed. It returns texts by file name; the command line writes them.
"""

from moorage.scaffold.plugin_project import Names, make

__all__ = ["Names", "make"]
