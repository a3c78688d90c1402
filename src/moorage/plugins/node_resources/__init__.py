"""NodeResourcesFit and NodeResourcesBalancedAllocation, and the arithmetic they share."""
