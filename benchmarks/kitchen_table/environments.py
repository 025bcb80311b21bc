"""Which packages the peers of this benchmark need, at which versions. Pure."""

from __future__ import annotations

from benchmarks.environments import Peer

PEERS = {
    "langchain": Peer(
        "LangChain tutorial",
        (
            "langchain-community==0.4.2",
            "langchain-huggingface==1.2.3",
            "docx2txt==0.9",
            "openpyxl==3.1.5",
        ),
    ),
    "llamaindex": Peer(
        "LlamaIndex",
        (
            "llama-index-core==0.14.25",
            "llama-index-embeddings-huggingface==0.8.0",
            "llama-index-readers-file==0.7.0",
            "docx2txt==0.9",
            "openpyxl==3.1.5",
        ),
    ),
}


def folder_of(key: str) -> str:
    """The name of a peer's environment: its packages are not those of `make bench`."""
    return f"kitchen-table-{key}"
