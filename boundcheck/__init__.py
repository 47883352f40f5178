"""How many attention heads of rank r does it take? Certified bounds, checked numerically."""
