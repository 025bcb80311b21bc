"""The commands of `rag-app`, a module for each family."""
