"""RAG-Sequence, RAG-Token and end-to-end training, as Lewis et al. (2020) define them."""
