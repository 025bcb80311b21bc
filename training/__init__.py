"""How the reader is made: from question files to the weights in `rag_app/models/reader`; the
sentence ranker (`ranker`) and the writer (`writer`), with a library written for them (`library`).

Nothing in `rag_app` imports this package. See README.md beside this file.
"""
