"""From a batch of problems to the best direction of each, and how good it can be."""
