"""The data path, one file a stage: channels, fuse, decay, promote, page, rerank; and explain, walk beside it."""
