"""Tables of filings, read off pictures of their pages."""
