"""Acting on decisions: permits, the binding cycle, events and pod status.

Law of the package: acts on decisions, takes none. Everything that talks to the API server about a
pod after its attempt is here; a failure comes back as an outcome, and the pod is retried.
"""
