"""The compiled kernels of _kernels.c, or None where they were not built and numpy is used."""

from types import ModuleType

compiled: ModuleType | None
try:
    from moorage.plugins import _kernels as compiled
except ImportError:  # no compiler when the package was installed
    compiled = None
