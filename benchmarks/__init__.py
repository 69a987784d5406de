"""Benchmarks: each measures the engine against its floor or its peer in the same run, and prints ratios and JSON."""
