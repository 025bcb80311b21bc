"""From a file that was handed in to a document that can be asked: queue, worker, purge."""
