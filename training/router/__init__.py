"""What tells which kind of work an utterance asks for (rag_app/answering/task_router.py)."""
