"""GPUs as devices: which one a pod holds, how it asks for them, and where that is written.

    annotations     where the devices of a pod are written, and how they are read back
    choice          which devices of a node a pod gets
    columns         DeviceColumns: what is left of every device, beside the node table
    domains         how many devices of each NUMA or NVLink domain a node has, and has free
    node_devices    NodeDevices: what devices a node has, and who reads which pod gets which
    node_lock       NodeLock: pods start one after the other where a device plugin needs that
    pod_dialects    what a pod asks for, in the dialects in use

Law of the package: what a bound pod's annotation says is true; what it does not say is worked out
once, and kept for as long as the pod is known. A device is never promised beyond 1000 milli.
"""
