"""The web page: the only folder besides app.py that knows Streamlit.

It asks the library and shows what comes back; it decides nothing about documents or answers."""
