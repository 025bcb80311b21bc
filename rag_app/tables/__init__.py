"""Tables of documents as data: typed, with the place of every cell, and asked in SQL."""
