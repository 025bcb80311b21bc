"""Who people are, what they may, how much, and who did what."""
