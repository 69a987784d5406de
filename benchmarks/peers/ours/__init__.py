"""brain_async itself."""
