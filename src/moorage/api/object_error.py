"""ObjectError: a Kubernetes object holds a value that cannot be used; its author should know."""


class ObjectError(ValueError):
    """A value that no API server would have stored, or that has no possible meaning."""
