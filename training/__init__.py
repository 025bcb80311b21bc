"""How the embedded reader is made: from question files to the weights in `rag_app/models/reader`.

Nothing in `rag_app` imports this package. See README.md beside this file.
"""
