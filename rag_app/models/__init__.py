"""Weights: which there are, how they come here, and whether they are the ones we know."""
