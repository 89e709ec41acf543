"""Which columns differ: alone, together, and the fewest that explain it; with intervals."""
