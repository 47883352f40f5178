"""Attempts to beat the lower bounds: heads whose error is minimised numerically (U5).

`objectives` names what is minimised, `search` does it from many starts, and `outcome`
puts the best heads beside the bounds that they must keep to.
"""
