//! `tokenizer.json` and the files beside it.

use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{AddedToken, Parts, Tokenizer};
use crate::error::{Error, Result};

/// The file. Its parts are parsed one by one, so that an error can say which one is wrong.
#[derive(Deserialize)]
struct File<'a> {
    #[serde(default, borrow)]
    added_tokens: Vec<&'a RawValue>,
    #[serde(default, borrow)]
    normalizer: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pre_tokenizer: Option<&'a RawValue>,
    #[serde(borrow)]
    model: &'a RawValue,
}

#[derive(Deserialize)]
struct Added {
    id: u32,
    content: String,
    #[serde(default)]
    special: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    normalized: bool,
}

pub(super) fn from_bytes(bytes: &[u8], origin: &str) -> Result<Tokenizer> {
    let fail = |part: &str, e: &dyn std::fmt::Display| Error::Tokenizer {
        origin: origin.to_owned(),
        what: format!("{part}: {e}"),
    };
    let file: File<'_> = serde_json::from_slice(bytes).map_err(|e| fail("file", &e))?;
    let mut added = Vec::with_capacity(file.added_tokens.len());
    for raw in file.added_tokens {
        let t: Added = serde_json::from_str(raw.get()).map_err(|e| fail("added_tokens", &e))?;
        added.push(AddedToken {
            id: t.id,
            content: t.content,
            special: t.special,
            lstrip: t.lstrip,
            rstrip: t.rstrip,
            single_word: t.single_word,
            normalized: t.normalized,
        });
    }
    fn parse(raw: Option<&RawValue>) -> Option<&str> {
        raw.map(RawValue::get).filter(|s| *s != "null")
    }
    let normalizer = parse(file.normalizer)
        .map(serde_json::from_str)
        .transpose()
        .map_err(|e| fail("normalizer", &e))?;
    let splitter = parse(file.pre_tokenizer)
        .map(serde_json::from_str)
        .transpose()
        .map_err(|e| fail("pre_tokenizer", &e))?;
    let bpe = serde_json::from_str(file.model.get())
        .map_err(|e| fail("model (expected a byte-level BPE)", &e))?;
    Tokenizer::assemble(Parts {
        origin: origin.to_owned(),
        bpe,
        normalizer,
        splitter,
        added,
        unused: Vec::new(),
        bos: None,
        eos: None,
    })
}

/// A token in `tokenizer_config.json`: its text, or an object that holds it.
#[derive(Deserialize)]
#[serde(untagged)]
enum TokenText {
    Plain(String),
    Object { content: String },
}

#[derive(Deserialize)]
struct TokenizerConfig {
    bos_token: Option<TokenText>,
    eos_token: Option<TokenText>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Ids {
    One(u32),
    Many(Vec<u32>),
}

#[derive(Deserialize)]
struct GenerationConfig {
    eos_token_id: Option<Ids>,
}

pub(super) fn from_dir(dir: &Path) -> Result<Tokenizer> {
    let path = dir.join("tokenizer.json");
    let bytes = std::fs::read(&path).map_err(|e| Error::io(&path, "cannot read", e))?;
    let mut this = from_bytes(&bytes, &path.display().to_string())?;
    if let Some(config) = optional::<TokenizerConfig>(&dir.join("tokenizer_config.json"))? {
        let id = |token: Option<TokenText>| {
            token.and_then(|token| match token {
                TokenText::Plain(text) | TokenText::Object { content: text } => this.id_of(&text),
            })
        };
        let (bos, eos) = (id(config.bos_token), id(config.eos_token));
        this.bos = bos.or(this.bos);
        this.eos = eos.or(this.eos);
        this.add_ends(eos);
    }
    if let Some(config) = optional::<GenerationConfig>(&dir.join("generation_config.json"))? {
        match config.eos_token_id {
            Some(Ids::One(id)) => this.add_ends([id]),
            Some(Ids::Many(ids)) => this.add_ends(ids),
            None => {}
        }
    }
    Ok(this)
}

fn optional<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|e| Error::Tokenizer {
                origin: path.display().to_string(),
                what: e.to_string(),
            }),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io(path, "cannot read", e)),
    }
}
