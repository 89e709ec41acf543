"""What is computed for every labelling alike, and the tests made of it."""
