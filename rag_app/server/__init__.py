"""What other programs ask: an HTTP API, an endpoint like OpenAI's, and MCP, beside the page.

All three are routes of one Starlette app in the process that holds the library. Knows nothing of
Streamlit: whoever serves hands in how the library is opened and who holds keys (`mount.py`)."""
