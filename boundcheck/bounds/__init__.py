"""The bounds: one module each, a registry of all, one protocol."""
