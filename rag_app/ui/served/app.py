"""What `rag-app` has Streamlit run, in a folder of its own: Streamlit puts the folder of its script
on the module path, and reads `.streamlit/config.toml` beside it."""

from rag_app.ui.app_entry import run

run()
