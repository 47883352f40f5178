"""The upper bounds as weights: each function makes a network and names its statement.

Weights are made with NumPy, in float64; float32 ones are these, rounded. Random
ones depend on the seed alone.
"""
