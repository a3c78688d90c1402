"""Tenants: elastic quotas of namespaces, and a queue that serves tenants fairly.

    feature               quotas are told what their namespace uses, and what is wrong with them
    capacity_scheduling   CapacityScheduling: who is within a quota, and who may evict whom
    fair_share            FairShare: the queue serves tenants by how little they have
    quotas                what quotas say, in numbers
    usage                 what the pods of each tenant use

Law of the package: plugins read quotas and usage, the feature alone writes to the API server.
"""
