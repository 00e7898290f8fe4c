#!/usr/bin/env python3
"""Trains the small test tokenizer and records what Hugging Face `tokenizers` makes of a corpus.

Pinned: tokenizers 0.23.3, Python 3.11.

    python tools/golden/tokenizer.py TEXT_FOR_TRAINING crates/lfm2/tests/data/tokenizer

TEXT_FOR_TRAINING is plain text of a permissive licence; the committed files were made from 1.5 MB
of CC0-1.0 text (Standard Ebooks editions). The tokenizer has the family's shape: byte-level BPE,
the Llama-3 split, `ignore_merges`, the low ids taken by control tokens, and two added tokens that
are not control tokens.

Writes `tokenizer.json`, `tokenizer.gguf.json` (the same as GGUF metadata) and `corpus.json`: for
each block of a generated corpus the number of ids and their FNV-1a hash. The corpus comes from a
seeded generator that the Rust test repeats step by step, so only its pieces are stored.
"""

import json
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CONTROL = [
    "<|pad|>", "<|startoftext|>", "<|endoftext|>", "<|fim_pre|>", "<|fim_mid|>", "<|fim_suf|>",
    "<|im_start|>", "<|im_end|>", "<|tool_list_start|>", "<|tool_list_end|>",
    "<|tool_call_start|>", "<|tool_call_end|>", "<|tool_response_start|>",
    "<|tool_response_end|>", "<|reserved_4|>", "<|reserved_5|>",
]
WORDS_OF_OUR_OWN = ["<think>", "</think>"]
VOCAB = 3000

# Building blocks of the corpus; recorded with the results.
PIECES = [
    "the", "Quick", "brown", "FOX", " jumps", " over", " the lazy dog", ". ", ", ", "; ", "! ", "?",
    "It's", "we'll", "they'RE", "I'd've", "can't", "'s", "'", "\"", "`", "0", "7", "42", "123",
    "1234567890", "3.14159", "-1e-9", "0x1F", "١٢٣", "²³", " ", "  ", "   ", "        ",
    " " * 37, "\t", "\t\t", "\n", "\n\n", "\r\n", "\r", "\n \n", " \n", "\n    ", "\u00a0",
    "\u3000", "\u200b", "\u2028", "\u0085", "fn main() {\n    println!(\"{}\", x);\n}\n",
    "if (a&&b||!c) return a->b[c++];", "#include <stdio.h>\n", "def f(x):\n\treturn x**2\n",
    "{\"k\": [1, 2.5, null, true]}", "SELECT * FROM t WHERE a <> 'b';", "https://example.com/?q=1&r=%20",
    "naïve", "Ärger", "ſtraße", "İstanbul", "Ελλάδα", "Привет", "мир", "שלום", "مرحبا", "नमस्ते",
    "東京", "日本語テキスト", "한국어", "中文。", "，", "🙂", "👩‍💻", "🇯🇵", "👍🏽", "e\u0301", "n\u0303",
    "𝔘𝔫𝔦", "\U000e0001", "\ufeff", "\ufffd", "\u0000", "\u0001", "\u007f", "<|im_start|>",
    "<|im_end|>", "<|im_end", "<|", "|>", "<|im_start|><|im_end|>", "<|tool_call_start|>",
    "[f(a='b')]", "<|tool_call_end|>", "<|endoftext|>", "<think>", "</think>", "<think", "<|reserved_4|>",
    "<|reserved_400|>", "<|IM_END|>", "user\n", "assistant\n", "----", "====", "////", "....", "___",
]


class Lcg:
    """The generator: 64-bit linear congruential, the upper 31 bits used."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


def block(seed):
    """About 16 KiB: pieces chosen evenly, now and then repeated, sometimes with a space between."""
    rng, out, size = Lcg(seed), [], 0
    while size < 16384:
        piece = PIECES[rng.below(len(PIECES))]
        times = 1 + (rng.below(6) if rng.below(10) == 0 else 0)
        text = piece * times + (" " if rng.below(3) == 0 else "")
        out.append(text)
        size += len(text.encode())
    return "".join(out)


def fnv(ids):
    h = 0xCBF29CE484222325
    for i in ids:
        for b in i.to_bytes(4, "little"):
            h = (h ^ b) * 0x100000001B3 % 2**64
    return f"{h:016x}"


def train(text):
    tok = Tokenizer(models.BPE(ignore_merges=True))
    tok.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB,
        special_tokens=[AddedToken(t, special=True, normalized=False) for t in CONTROL],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    # Blocks the test does not use, so that there are merges for more than English.
    lines = text.splitlines(keepends=True) + [block(seed) for seed in range(1000, 1012)]
    tok.train_from_iterator(lines, trainer)
    tok.add_tokens([AddedToken(t, special=False, normalized=True) for t in WORDS_OF_OUR_OWN])
    return tok


def gguf(tok):
    """The metadata a converter writes for this tokenizer."""
    data = json.loads(tok.to_str())
    size = tok.get_vocab_size()
    tokens = [tok.id_to_token(i) for i in range(size)]
    kinds = [1] * size
    for added in data["added_tokens"]:
        kinds[added["id"]] = 3 if added["special"] else 4
    merges = [m if isinstance(m, str) else " ".join(m) for m in data["model"]["merges"]]
    # Converters pad a vocabulary with tokens that no text produces.
    tokens += ["[PAD0]", "[PAD1]"]
    kinds += [5, 5]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "lfm2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 7,
    }


def main():
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    tok = train(source.read_text())
    target.mkdir(parents=True, exist_ok=True)
    (target / "tokenizer.json").write_text(tok.to_str())
    (target / "tokenizer.gguf.json").write_text(
        json.dumps(gguf(tok), ensure_ascii=False, separators=(",", ":"))
    )
    blocks = []
    for seed in range(80):
        text = block(seed)
        ids = tok.encode(text, add_special_tokens=False).ids
        blocks.append({"seed": seed, "bytes": len(text.encode()), "ids": len(ids), "hash": fnv(ids)})
    shown = "It's 12345 <|im_start|>user\nnaïve 東京 👩‍💻<|im_end|>\n  <think>x</think>\r\n\r\n"
    sample = {"text": shown, "ids": tok.encode(shown, add_special_tokens=False).ids}
    (target / "corpus.json").write_text(
        json.dumps({"pieces": PIECES, "sample": sample, "blocks": blocks})
    )


main()
