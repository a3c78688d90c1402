"""ObjectError: a Kubernetes object holds a value that cannot be used; its author is to be told."""


class ObjectError(ValueError):
    """Something in an object that no API server would have stored, or that nothing can follow."""
