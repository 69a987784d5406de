"""The floor: one hand-written statement over pgvector and tsvector, or pg_textsearch."""
