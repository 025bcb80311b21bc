"""Other embedding models than the shipped one, tuned ones, and changing from one to another."""
