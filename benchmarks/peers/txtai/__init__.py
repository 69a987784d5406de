"""txtai: hybrid search over Postgres, and as it comes, over faiss and SQLite."""
