//! The tokenizer in the forms that lie beside or inside weights.

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::config::Config;
use crate::error::{Error, Result};

/// Kinds of token in GGUF.
const NORMAL: i32 = 1;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
const UNUSED: i32 = 5;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    added_tokens: Vec<Added>,
    model: Model,
}

#[derive(Deserialize)]
struct Added {
    id: usize,
    content: String,
    #[serde(default)]
    special: bool,
}

#[derive(Deserialize)]
struct Model {
    vocab: std::collections::HashMap<String, usize>,
    #[serde(default)]
    merges: Vec<Merge>,
}

/// Both spellings of a merge that `tokenizer.json` files use.
#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Text(String),
    Pair(String, String),
}

/// A byte-level BPE as GGUF's lists.
#[derive(Debug, Clone, Default)]
pub struct GgufTokenizer {
    /// Token texts by id.
    pub tokens: Vec<String>,
    /// Token kinds by id: 1 normal, 3 control, 4 user-defined, 5 unused.
    pub types: Vec<i32>,
    /// Merges, best first, as "A B".
    pub merges: Vec<String>,
}

impl GgufTokenizer {
    /// Converts the bytes of a `tokenizer.json`; ids it leaves free below `vocab_size` become unused.
    pub fn from_json(bytes: &[u8], vocab_size: usize) -> Result<Self> {
        let file = parse(bytes)?;
        let mut tokens: Vec<String> = (0..vocab_size).map(|i| format!("[UNUSED{i}]")).collect();
        let mut types = vec![UNUSED; vocab_size];
        let vocab = file.model.vocab.into_iter().map(|(t, id)| (t, id, NORMAL));
        let added = file.added_tokens.into_iter().map(|a| {
            (
                a.content,
                a.id,
                if a.special { CONTROL } else { USER_DEFINED },
            )
        });
        for (text, id, ty) in vocab.chain(added) {
            if id >= vocab_size {
                return Err(fail(format!(
                    "token {text:?} has the id {id}; the model's vocabulary has {vocab_size}"
                )));
            }
            tokens[id] = text;
            types[id] = ty;
        }
        let merge = |m| match m {
            Merge::Text(t) => t,
            Merge::Pair(a, b) => format!("{a} {b}"),
        };
        Ok(Self {
            tokens,
            types,
            merges: file.model.merges.into_iter().map(merge).collect(),
        })
    }
}

/// `tokenizer_config.json` for a `tokenizer.json`: its class, and the special tokens by text.
pub(super) fn hf_config(tokenizer: &[u8], config: &Config) -> Result<Json> {
    let added = parse(tokenizer)?.added_tokens;
    let text = |id: u32| {
        added
            .iter()
            .find(|a| a.id == id as usize)
            .map(|a| &a.content)
    };
    Ok(json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": text(config.bos_token),
        "eos_token": text(config.eos_token),
        "pad_token": text(config.pad_token),
        "clean_up_tokenization_spaces": false,
        "model_max_length": config.max_positions,
    }))
}

fn parse(bytes: &[u8]) -> Result<File> {
    serde_json::from_slice(bytes).map_err(|e| fail(e.to_string()))
}

fn fail(what: String) -> Error {
    Error::Tokenizer {
        origin: "tokenizer.json to write".to_owned(),
        what,
    }
}
