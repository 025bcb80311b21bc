"""What is PostgreSQL's own: statements in its words, and what becomes of them when it is away."""
