"""From a query to passages: chunking, embedding, ranking, and the retriever."""
