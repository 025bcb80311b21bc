"""What `rag-app` has Streamlit run, in a folder of its own: Streamlit puts the folder of its script
on the module path, and reads `.streamlit/config.toml` beside it.

Streamlit uses this file twice: it serves the `app`, and runs the file to draw the page."""

if __name__ == "__main__":
    from rag_app.ui.app_entry import run

    run()
else:
    from streamlit.starlette import App

    from rag_app.ui import web_guard

    app = App(__file__, **web_guard.options())  # Streamlit looks for this call in the text
