"""How sure: sparsity chosen on held-out rows, p-values, feature selection."""
