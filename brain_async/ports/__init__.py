"""The async Protocols that adapters implement and the engine is written against."""
