"""Other projects adding PDFs, as their own docs set it up, with the embedding model that we have.

Each runs in the environment of `environments.py` and knows nothing of rag_app. Only the model is
given, as a folder; sizes of chunks and batches are the projects' defaults, or their docs' where
the defaults do not split at all. `add` gives (pages, texts that were embedded)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Add = Callable[[Sequence[Path], Path], tuple[int, list[str]]]


def llamaindex(model: str) -> Add:
    """The starter tutorial for local models: SimpleDirectoryReader, VectorStoreIndex, persist."""
    from llama_index.core import Settings, SimpleDirectoryReader, VectorStoreIndex
    from llama_index.embeddings.huggingface import HuggingFaceEmbedding

    Settings.embed_model = HuggingFaceEmbedding(model_name=model, device="cpu")
    Settings.embed_model.get_text_embedding("a first sentence")

    def add(paths: Sequence[Path], folder: Path) -> tuple[int, list[str]]:
        documents = SimpleDirectoryReader(input_files=list(paths)).load_data()
        index = VectorStoreIndex.from_documents(documents)
        index.storage_context.persist(persist_dir=str(folder))
        from llama_index.core.schema import MetadataMode

        nodes = index.docstore.docs.values()
        return len(documents), [node.get_content(MetadataMode.EMBED) for node in nodes]

    return add


def haystack(model: str) -> Add:
    """The indexing pipeline of the docs: PyPDF, cleaner, splitter (150 words, 50 overlap), memory.

    The document store is the one of the tutorials; it keeps vectors in memory."""
    from haystack import Pipeline
    from haystack.components.converters import PyPDFToDocument
    from haystack.components.preprocessors import DocumentCleaner, DocumentSplitter
    from haystack.components.writers import DocumentWriter
    from haystack.document_stores.in_memory import InMemoryDocumentStore
    from haystack_integrations.components.embedders.sentence_transformers import (
        SentenceTransformersDocumentEmbedder,
    )

    store = InMemoryDocumentStore()
    pipeline = Pipeline()
    for name, component in (
        ("converter", PyPDFToDocument()),
        ("cleaner", DocumentCleaner()),
        ("splitter", DocumentSplitter(split_by="word", split_length=150, split_overlap=50)),
        ("embedder", SentenceTransformersDocumentEmbedder(model=model, progress_bar=False)),
        ("writer", DocumentWriter(store)),
    ):
        pipeline.add_component(name, component)
    for one, next_one in (
        ("converter", "cleaner"),
        ("cleaner", "splitter"),
        ("splitter", "embedder"),
        ("embedder", "writer"),
    ):
        pipeline.connect(one, next_one)
    pipeline.warm_up()

    def add(paths: Sequence[Path], folder: Path) -> tuple[int, list[str]]:
        pipeline.run({"converter": {"sources": list(paths)}})
        return _pages(paths), [one.content or "" for one in store.filter_documents()]

    return add


def txtai(model: str) -> Add:
    """An embeddings database with content, saved; a passage is a page.

    txtai's own readers of PDF are Tika, which is written in Java, and Docling, whose models come
    from a hub; so the pages are read by pypdf here, as by the others."""
    import pypdf
    from txtai import Embeddings

    embeddings = Embeddings(path=model, content=True, method="sentence-transformers", gpu=False)
    embeddings.transform("a first sentence")

    def add(paths: Sequence[Path], folder: Path) -> tuple[int, list[str]]:
        texts = [page.extract_text() for path in paths for page in pypdf.PdfReader(path).pages]
        embeddings.index([(number, text, None) for number, text in enumerate(texts)])
        embeddings.save(str(folder))
        return len(texts), texts

    return add


def _pages(paths: Sequence[Path]) -> int:
    import pypdf

    return sum(len(pypdf.PdfReader(path).pages) for path in paths)


PIPELINES: dict[str, Callable[[str], Add]] = {
    "llamaindex": llamaindex,
    "haystack": haystack,
    "txtai": txtai,
}


def share_read(model: str, texts: Sequence[str]) -> float:
    """The share of all tokens that the model reads; it cuts a text off after so many."""
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(model, local_files_only=True)
    lengths = [len(ids) for ids in tokenizer(list(texts), add_special_tokens=False)["input_ids"]]
    return sum(min(length, LONGEST) for length in lengths) / max(1, sum(lengths))


LONGEST = 254  # tokens of a text that all-MiniLM-L6-v2 is set to read
