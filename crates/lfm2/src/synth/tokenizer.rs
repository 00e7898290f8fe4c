//! A tokenizer for models without one: bytes, the family's special tokens at their real ids, and made-up
//! words for the other ids, so that output is readable and English-like text costs about a token a byte.

use serde_json::{Map, Value as Json, json};

use crate::config::Config;

/// Special tokens of the 65,536-token vocabulary, from id 0.
const SMALL: [&str; 14] = [
    "<|pad|>",
    "<|startoftext|>",
    "<|endoftext|>",
    "<|fim_pre|>",
    "<|fim_mid|>",
    "<|fim_suf|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|tool_list_start|>",
    "<|tool_list_end|>",
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "<|tool_response_start|>",
    "<|tool_response_end|>",
];

/// Special tokens of the 128,000-token vocabulary, from id 124,893.
const LARGE: [&str; 15] = [
    "<|pad|>",
    "<|startoftext|>",
    "<|endoftext|>",
    "<|fim_pre|>",
    "<|fim_mid|>",
    "<|fim_suf|>",
    "<|im_start|>",
    "<|im_end|>",
    "<think>",
    "</think>",
    "<|tool_list_start|>",
    "<|tool_list_end|>",
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "<image>",
];

/// First special id of the large vocabulary.
const LARGE_FIRST: usize = 124_893;

/// How the family splits text before it looks up words (that of Llama 3).
const SPLIT: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// A `tokenizer.json` of exactly the configuration's vocabulary, or `None` where bytes and special tokens
/// do not fit into it.
pub fn tokenizer_json(config: &Config) -> Option<Vec<u8>> {
    let n = config.vocab_size;
    let (first, specials) = if n >= LARGE_FIRST + LARGE.len() {
        (LARGE_FIRST, &LARGE[..])
    } else {
        (0, &SMALL[..])
    };
    if n < 256 + specials.len() {
        return None;
    }
    let special = |id: usize| id.checked_sub(first).and_then(|i| specials.get(i));
    let mut vocab = Map::new();
    let mut added = Vec::new();
    let mut bytes = letters().into_iter();
    let mut words = 0..;
    for id in 0..n {
        if let Some(text) = special(id) {
            added.push(json!({
                "id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": !text.ends_with("think>"),
            }));
            continue;
        }
        let text = match bytes.next() {
            Some(letter) => letter.to_string(),
            None => word(words.next()?),
        };
        vocab.insert(text, json!(id));
    }
    let json = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": null,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated", "invert": false},
                {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
            ],
        },
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": true,
            "vocab": Json::Object(vocab), "merges": [],
        },
    });
    serde_json::to_vec(&json).ok()
}

/// The letter that stands for each byte (GPT-2's table): printable Latin-1 for itself, the others from
/// U+0100 on.
fn letters() -> Vec<char> {
    let mut next = 0x100;
    (0_u32..256)
        .map(|b| {
            if matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff) {
                char::from_u32(b).unwrap_or(' ')
            } else {
                next += 1;
                char::from_u32(next - 1).unwrap_or(' ')
            }
        })
        .collect()
}

/// Made-up word `i`, with a leading space ("Ġ"): syllables spell the number.
fn word(mut i: usize) -> String {
    const FIRST: &[u8] = b"bdfgklmnprstvz";
    const SECOND: &[u8] = b"aeiou";
    let mut s = String::from("Ġ");
    let n = FIRST.len() * SECOND.len();
    // Two syllables at least, so that no word is as short as a letter.
    for at_least in 0.. {
        s.push(FIRST[i % n / SECOND.len()] as char);
        s.push(SECOND[i % SECOND.len()] as char);
        i /= n;
        if i == 0 && at_least >= 1 {
            break;
        }
    }
    s
}
