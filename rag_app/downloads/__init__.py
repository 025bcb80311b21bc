"""Models fetched at the wish of the user, in a process of their own."""
