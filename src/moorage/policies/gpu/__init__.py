"""Policies for pods and nodes with GPUs.

    devices        GPUs as devices: which one a pod holds, how it asks, where that is written
    gpu_largest_first  GPULargestFirst: of pods that wait together, the largest go first
    gpu_packing    GPUPacking: GPUs packed for the pods to come, down to the device
    gpu_priority   GPUPriorityPlugin: GPU pods go to GPU nodes, and other pods stay off them
    gpu_request    GPURequest: what one pod asks of a node with GPUs
    gpu_resources  how many GPUs a pod requests, and how many a node has
    gpu_topology   GPUTopology: packs GPU pods onto the nodes and NUMA domains they fill best
    numa_domains   which GPUs of a node are taken, by NUMA domain, as pods come and go
    packing_costs  what a placement costs the GPUs of a node, for the pods that are to be expected
    typical_pods   TypicalPods: which pods to expect, learnt from those that came

Law of the package: GPUs are whatever resources and labels the arguments name as such.
"""
