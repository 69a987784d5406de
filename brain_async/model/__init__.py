"""Frozen values: what the engine takes, keeps and returns."""
