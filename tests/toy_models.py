"""Tiny random models of real architectures, and a tokenizer of whole words, made on the spot."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

PAD, END, START = 0, 1, 2  # the tokens that the models below and the tokenizer agree on


def bart(vocabulary: int, seed: int = 0, width: int = 16, spread: float = 1.0) -> Any:
    """A seq2seq model shaped like BART. `spread`: how far its weights are from nought."""
    import torch
    from transformers import BartConfig, BartForConditionalGeneration

    torch.manual_seed(seed)
    config = BartConfig(
        vocab_size=vocabulary,
        d_model=width,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=2 * width,
        decoder_ffn_dim=2 * width,
        max_position_embeddings=64,
        init_std=spread,
        dropout=0.0,
        pad_token_id=PAD,
        eos_token_id=END,
        bos_token_id=START,
        decoder_start_token_id=START,
        forced_eos_token_id=None,
    )
    return BartForConditionalGeneration(config).eval()


def t5(vocabulary: int, seed: int = 0, width: int = 16) -> Any:
    """A seq2seq model shaped like T5; its decoder starts with the pad token."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(seed)
    config = T5Config(
        vocab_size=vocabulary,
        d_model=width,
        d_kv=8,
        d_ff=2 * width,
        num_layers=1,
        num_decoder_layers=1,
        num_heads=2,
        dropout_rate=0.0,
        initializer_factor=2.0,
        pad_token_id=PAD,
        eos_token_id=END,
        decoder_start_token_id=PAD,
    )
    return T5ForConditionalGeneration(config).eval()


def gpt2(vocabulary: int, seed: int = 0) -> Any:
    """A causal model shaped like GPT-2, with learnt absolute positions."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=vocabulary,
        n_embd=16,
        n_layer=2,
        n_head=2,
        n_positions=64,
        initializer_range=0.7,
        pad_token_id=PAD,
        eos_token_id=END,
        bos_token_id=START,
    )
    return GPT2LMHeadModel(config).eval()


def llama(vocabulary: int, seed: int = 0) -> Any:
    """A causal model shaped like Llama, with rotary positions."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=64,
        initializer_range=0.7,
        pad_token_id=PAD,
        eos_token_id=END,
        bos_token_id=START,
    )
    return LlamaForCausalLM(config).eval()


def bert_config(vocabulary: int, width: int = 16, **more: Any) -> dict[str, Any]:
    """The arguments of a tiny BERT's configuration."""
    return {
        "vocab_size": vocabulary,
        "hidden_size": width,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 2 * width,
        "max_position_embeddings": 64,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "pad_token_id": PAD,
    } | more


def tokenizer(words: Iterable[str]) -> Any:
    """Whole words, [CLS] before and </s> after them; `PAD`, `END` and `START` have their places."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "</s>", "<s>", "<unk>"]
    vocabulary = {word: place for place, word in enumerate([*special, *words])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", START), ("</s>", END)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        eos_token="</s>",
        bos_token="<s>",
        cls_token="<s>",
        sep_token="</s>",
        unk_token="<unk>",
    )


def save(folder: Path, model: Any, words: Any) -> Path:
    """A folder as transformers writes it."""
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
