"""Tenants: elastic quotas of namespaces, and a queue that serves tenants fairly."""
