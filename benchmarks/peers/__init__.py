"""Other retrieval libraries on the same documents and embeddings; ``bench_peers.py`` drives one process of each."""
