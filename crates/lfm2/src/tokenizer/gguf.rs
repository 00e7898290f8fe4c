//! The tokenizer inside a GGUF file.

use tokenizers::{
    PreTokenizerWrapper, SplitDelimiterBehavior,
    models::bpe::BPE,
    pre_tokenizers::{
        byte_level::ByteLevel,
        sequence::Sequence,
        split::{Split, SplitPattern},
    },
};

use super::{AddedToken, Parts, Tokenizer};
use crate::error::{Error, Result};
use crate::gguf::{Metadata, Value};

/// How the family splits text into words before merging (the same as Llama 3's): contractions,
/// letters with one leading mark, up to three digits, other marks, line breaks, white space.
const SPLIT: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    r"|[^\r\n\p{L}\p{N}]?\p{L}+",
    r"|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"|\s*[\r\n]+",
    r"|\s+(?!\S)",
    r"|\s+",
);

const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;
const UNUSED: i64 = 5;

pub(super) fn from_metadata(metadata: &Metadata) -> Result<Tokenizer> {
    let bad = |key: &str, what: String| Error::config(&metadata.origin, key, what);
    let key = "tokenizer.ggml.model";
    let model = metadata.string(key)?;
    if model != "gpt2" {
        let what = format!("{model:?} is not supported; expected \"gpt2\" (byte-level BPE)");
        return Err(bad(key, what));
    }
    let key = "tokenizer.ggml.pre";
    let pre = metadata.string(key)?;
    if !["lfm2", "llama-bpe", "llama3", "llama-v3"].contains(&pre) {
        let what = format!("{pre:?} is not supported; expected \"lfm2\" or \"llama-bpe\"");
        return Err(bad(key, what));
    }
    let tokens = metadata.strings("tokenizer.ggml.tokens")?;
    let key = "tokenizer.ggml.token_type";
    let kinds = match metadata.get(key) {
        None => &[][..],
        Some(_) => metadata.integers(key)?,
    };
    if !kinds.is_empty() && kinds.len() != tokens.len() {
        let what = format!(
            "{} entries; expected {}, one a token",
            kinds.len(),
            tokens.len()
        );
        return Err(bad(key, what));
    }

    let (mut vocab, mut added, mut unused) = (Vec::new(), Vec::new(), Vec::new());
    for (id, token) in tokens.iter().enumerate() {
        let id = id as u32;
        match kinds.get(id as usize).copied().unwrap_or(1) {
            kind @ (CONTROL | USER_DEFINED) => added.push(AddedToken {
                id,
                content: token.clone(),
                special: kind == CONTROL,
                lstrip: false,
                rstrip: false,
                single_word: false,
                normalized: false,
            }),
            UNUSED => unused.push((id, token.clone())),
            _ => vocab.push((token.clone(), id)),
        }
    }

    let key = "tokenizer.ggml.merges";
    let mut merges = Vec::new();
    for (i, merge) in metadata.strings(key)?.iter().enumerate() {
        // A space inside a piece is written as a letter, so the only space is the border.
        let pair = merge.split_once(' ').filter(|(_, b)| !b.contains(' '));
        let (a, b) = pair.ok_or_else(|| {
            bad(
                key,
                format!("entry {i} is {merge:?}; expected two pieces with a space between"),
            )
        })?;
        merges.push((a.to_owned(), b.to_owned()));
    }
    let bpe = BPE::builder()
        .vocab_and_merges(
            vocab
                .into_iter()
                .collect::<tokenizers::models::bpe::Vocab>(),
            merges,
        )
        .ignore_merges(true)
        .build()
        .map_err(|e| bad(key, format!("do not fit the tokens: {e}")))?;

    let split = Split::new(
        SplitPattern::Regex(SPLIT.to_owned()),
        SplitDelimiterBehavior::Isolated,
        false,
    )
    .map_err(|e| Error::Tokenizer {
        origin: metadata.origin.clone(),
        what: format!("the split pattern does not compile: {e}"),
    })?;
    let splitter = PreTokenizerWrapper::Sequence(Sequence::new(vec![
        PreTokenizerWrapper::Split(split),
        PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, true, false)),
    ]));

    let id = |key: &str| -> Result<Option<u32>> {
        if metadata.get(key).is_none() {
            return Ok(None);
        }
        let id = metadata.unsigned(key)?;
        if id < tokens.len() as u64 {
            return Ok(Some(id as u32));
        }
        let what = format!("{id} is no token; expected less than {}", tokens.len());
        Err(bad(key, what))
    };
    let mut this = Tokenizer::assemble(Parts {
        origin: metadata.origin.clone(),
        bpe,
        normalizer: None,
        splitter: Some(splitter),
        added,
        unused,
        bos: id("tokenizer.ggml.bos_token_id")?,
        eos: id("tokenizer.ggml.eos_token_id")?,
    })?;
    this.add_ends(id("tokenizer.ggml.eot_token_id")?);
    if let Some(Value::Integers(ids)) = metadata.get("tokenizer.ggml.eog_token_ids") {
        this.add_ends(ids.iter().filter_map(|id| u32::try_from(*id).ok()));
    }
    Ok(this)
}
