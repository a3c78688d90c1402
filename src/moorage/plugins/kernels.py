"""The fused passes, where they could be built; None where numpy does the work."""

from types import ModuleType

compiled: ModuleType | None
try:
    from moorage.plugins import _kernels as compiled
except ImportError:  # no compiler when the package was installed
    compiled = None
