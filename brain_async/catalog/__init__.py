"""The kind catalog, and the validation of kinds, filters, objects and values: pure, no I/O."""
