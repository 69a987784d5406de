"""The data path, one file a stage: channels, fuse, decay, promote, hydrate, rerank, page.

Beside it: explain, the walk of an expand, and the deadline on what is no channel.
"""
