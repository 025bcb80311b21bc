"""How the sentence ranker is made: from questions with their evidence to its weights."""
