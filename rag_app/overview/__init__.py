"""What a document is about: outline, summary, topics, questions it can answer."""
