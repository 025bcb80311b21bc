"""Words, sentences and languages of any text; nothing of documents or questions."""
