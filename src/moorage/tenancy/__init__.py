"""Tenants: elastic quotas of namespaces, and a queue that serves tenants fairly.

    feature               writes usage to the status of quotas, and reports contradictory quotas
    capacity_scheduling   CapacityScheduling: keeps namespaces within quotas, and limits evictions
    fair_share            FairShare: the queue serves the tenants with the smallest shares first
    quotas                quotas in numbers, and what namespaces use
    usage                 what the pods of each tenant use

Law of the package: plugins read quotas and usage; only the feature writes to the API server.
"""
