"""LlamaIndex: PGVectorStore with hybrid search."""
