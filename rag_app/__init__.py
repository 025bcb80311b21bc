"""Chat with your documents and see the exact lines every answer comes from."""
