"""What the retriever knows besides the two indexes: names, years, heads of pages, what is asked."""
