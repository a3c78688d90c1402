"""GPUs as devices: which devices a pod holds, how it requests them, and the annotations for both.

    annotations     writes the devices of a pod to its annotations, and reads them back
    choice          which devices of a node a pod gets
    columns         DeviceColumns: what is left of every device, beside the node table
    domains         how many devices each NUMA or NVLink domain of a node has, and has free
    node_devices    NodeDevices: the devices of a node, and who reads which pod gets which
    node_lock       NodeLock: pods start one after the other if a device plugin needs that
    pod_dialects    what a pod requests, in the dialects in use

Law of the package: a bound pod's annotation is believed. What it does not say is computed once and
kept while the pod is known. No more than 1000 milli of a device are ever promised.
"""
