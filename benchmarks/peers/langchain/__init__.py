"""langchain-postgres: PGVectorStore with hybrid search."""
