"""The error of an object that says what cannot be: whoever wrote it is at fault, and is told."""


class ObjectError(ValueError):
    """Something in an object that no API server would have stored, or that nothing can follow."""
