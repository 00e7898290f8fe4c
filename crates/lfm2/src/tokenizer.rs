//! Text to token ids and back: byte-level BPE with special tokens that text cannot forge.
//!
//! The BPE itself is the `tokenizers` crate's; special ("added") tokens are cut out here, because
//! who may write them is a question of trust, not of spelling. A chat template may write
//! `<|im_end|>`; a user's message that spells those ten characters must stay ten characters.
//! [`Prompt`] carries that distinction from the template to [`Tokenizer::encode_prompt`].
//!
//! Where nothing untrusted spells a special token, the ids equal those of Hugging Face
//! `tokenizers` on the same text (without its post-processor: a beginning-of-sequence token is
//! written by the chat template, never added here).

mod bytes;
mod detokenizer;
mod gguf;
mod json;
mod prompt;
mod specials;

use std::collections::HashMap;
use std::path::Path;

use tokenizers::{
    Model as _, NormalizedString, Normalizer as _, NormalizerWrapper, OffsetType,
    PreTokenizedString, PreTokenizer as _, PreTokenizerWrapper, models::bpe::BPE,
};

use crate::error::{Error, Result};
pub use detokenizer::Detokenizer;
pub use prompt::{Guard, Prompt};
pub use specials::AddedToken;
use specials::Specials as SpecialTable;

/// Whether text may spell special tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Specials {
    /// Text that spells a special token is ordinary text. For everything a user or a tool wrote.
    Forbid,
    /// Text that spells a special token becomes that token. For templates and raw completion.
    Allow,
}

/// The ids of the special tokens that the engine itself has to know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpecialIds {
    /// `<|im_start|>`
    pub im_start: Option<u32>,
    /// `<|im_end|>`
    pub im_end: Option<u32>,
    /// `<|endoftext|>`
    pub end_of_text: Option<u32>,
    /// `<|tool_call_start|>`
    pub tool_call_start: Option<u32>,
    /// `<|tool_call_end|>`
    pub tool_call_end: Option<u32>,
    /// `<think>`, where it is one token
    pub think_start: Option<u32>,
    /// `</think>`, where it is one token
    pub think_end: Option<u32>,
    /// `<|fim_pre|>`
    pub fim_prefix: Option<u32>,
    /// `<|fim_mid|>`
    pub fim_middle: Option<u32>,
    /// `<|fim_suf|>`
    pub fim_suffix: Option<u32>,
    /// `<|pad|>`
    pub pad: Option<u32>,
}

/// A tokenizer of the family: byte-level BPE plus added tokens.
#[derive(Debug)]
pub struct Tokenizer {
    bpe: BPE,
    normalizer: Option<NormalizerWrapper>,
    splitter: Option<PreTokenizerWrapper>,
    specials: SpecialTable,
    ids: HashMap<String, u32>,
    /// Raw bytes of all tokens back to back; token `i` is `bytes[starts[i]..starts[i + 1]]`.
    bytes: Vec<u8>,
    starts: Vec<u32>,
    special: Vec<bool>,
    bos: Option<u32>,
    eos: Option<u32>,
    ends: Vec<u32>,
    named: SpecialIds,
    origin: String,
}

/// What a loader has to find; [`Tokenizer::assemble`] does the rest.
struct Parts {
    origin: String,
    bpe: BPE,
    normalizer: Option<NormalizerWrapper>,
    splitter: Option<PreTokenizerWrapper>,
    added: Vec<AddedToken>,
    /// Tokens of the file that the BPE does not hold and that are not added tokens either.
    unused: Vec<(u32, String)>,
    bos: Option<u32>,
    eos: Option<u32>,
}

/// More ids than this are a broken file: the family's largest vocabulary has 128,000.
const MAX_VOCAB: u32 = 1 << 22;

impl Tokenizer {
    /// Reads `tokenizer.json` in `dir`, and from `tokenizer_config.json` and
    /// `generation_config.json`, where present, which tokens begin and end a text.
    pub fn from_dir(dir: &Path) -> Result<Self> {
        json::from_dir(dir)
    }

    /// Reads the bytes of a `tokenizer.json`; `origin` names it in errors.
    pub fn from_json(bytes: &[u8], origin: &str) -> Result<Self> {
        json::from_bytes(bytes, origin)
    }

    /// Builds the tokenizer that a GGUF file describes (`tokenizer.ggml.*`).
    pub fn from_gguf(metadata: &crate::gguf::Metadata) -> Result<Self> {
        gguf::from_metadata(metadata)
    }

    fn assemble(parts: Parts) -> Result<Self> {
        let fail = |what: String| Error::Tokenizer {
            origin: parts.origin.clone(),
            what,
        };
        let mut ids: HashMap<String, u32> = parts.bpe.get_vocab();
        for token in &parts.added {
            ids.insert(token.content.clone(), token.id);
        }
        let unused = parts.unused.iter().map(|(id, text)| (text, id));
        let last = ids.iter().chain(unused.clone()).map(|(_, id)| *id).max();
        let size = match last {
            None => return Err(fail("it has no tokens".into())),
            Some(last) if last >= MAX_VOCAB => {
                return Err(fail(format!(
                    "token id {last} is out of range; expected less than {MAX_VOCAB}"
                )));
            }
            Some(last) => last as usize + 1,
        };
        // A byte-level BPE has a token for each byte; without them, text would vanish silently.
        if let Some(byte) = (0..=255).find(|b| !ids.contains_key(&bytes::letter(*b).to_string())) {
            return Err(fail(format!(
                "no token for byte 0x{byte:02x}; expected a byte-level BPE vocabulary"
            )));
        }
        let mut texts: Vec<Option<&str>> = vec![None; size];
        for (text, id) in ids.iter().chain(unused) {
            texts[*id as usize] = Some(text);
        }
        let mut special = vec![false; size];
        let mut raw = vec![false; size];
        for token in &parts.added {
            special[token.id as usize] = token.special;
            raw[token.id as usize] = true;
            texts[token.id as usize] = Some(&token.content);
        }
        let (mut all, mut starts) = (Vec::new(), Vec::with_capacity(size + 1));
        for (text, raw) in texts.iter().zip(raw) {
            starts.push(all.len() as u32);
            match text {
                Some(text) if raw => all.extend_from_slice(text.as_bytes()),
                Some(text) => bytes::decode_into(text, &mut all),
                None => {}
            }
        }
        starts.push(all.len() as u32);
        let specials = SpecialTable::new(parts.added).map_err(fail)?;
        let named = SpecialIds {
            im_start: specials.id("<|im_start|>"),
            im_end: specials.id("<|im_end|>"),
            end_of_text: specials.id("<|endoftext|>"),
            tool_call_start: specials.id("<|tool_call_start|>"),
            tool_call_end: specials.id("<|tool_call_end|>"),
            think_start: specials.id("<think>"),
            think_end: specials.id("</think>"),
            fim_prefix: specials.id("<|fim_pre|>"),
            fim_middle: specials.id("<|fim_mid|>"),
            fim_suffix: specials.id("<|fim_suf|>"),
            pad: specials.id("<|pad|>"),
        };
        let eos = parts.eos.or(named.im_end).or(named.end_of_text);
        let mut this = Self {
            bos: parts.bos.or_else(|| specials.id("<|startoftext|>")),
            eos,
            ends: Vec::new(),
            bpe: parts.bpe,
            normalizer: parts.normalizer,
            splitter: parts.splitter,
            specials,
            ids,
            bytes: all,
            starts,
            special,
            named,
            origin: parts.origin,
        };
        this.add_ends([eos, named.end_of_text, named.im_end].into_iter().flatten());
        Ok(this)
    }

    /// Adds tokens that end a generation, such as the list in `generation_config.json`.
    pub fn add_ends(&mut self, ids: impl IntoIterator<Item = u32>) {
        self.ends.extend(ids);
        self.ends.sort_unstable();
        self.ends.dedup();
    }

    /// Token ids of `text`. Adds nothing of its own.
    pub fn encode(&self, text: &str, specials: Specials) -> Result<Vec<u32>> {
        let mut out = Vec::with_capacity(text.len() / 3);
        match specials {
            Specials::Forbid => self.encode_ordinary(text, &mut out)?,
            Specials::Allow => self.encode_around(text, &[], &mut out)?,
        }
        Ok(out)
    }

    /// Token ids of a rendered prompt: special tokens where trusted text spells them, ordinary
    /// tokens everywhere else.
    pub fn encode_prompt(&self, prompt: &Prompt) -> Result<Vec<u32>> {
        let mut out = Vec::with_capacity(prompt.text().len() / 3);
        self.encode_around(prompt.text(), prompt.barriers(), &mut out)?;
        Ok(out)
    }

    fn encode_around(&self, text: &str, barriers: &[usize], out: &mut Vec<u32>) -> Result<()> {
        let mut from = 0;
        for cut in self.specials.find(text, barriers) {
            self.encode_ordinary(&text[from..cut.start], out)?;
            out.push(cut.id);
            from = cut.end;
        }
        self.encode_ordinary(&text[from..], out)
    }

    fn encode_ordinary(&self, text: &str, out: &mut Vec<u32>) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let run = || -> tokenizers::Result<tokenizers::Encoding> {
            let mut normal = NormalizedString::from(text);
            if let Some(normalizer) = &self.normalizer {
                normalizer.normalize(&mut normal)?;
            }
            let mut pieces = PreTokenizedString::from(normal);
            if let Some(splitter) = &self.splitter {
                splitter.pre_tokenize(&mut pieces)?;
            }
            pieces.tokenize(|piece| self.bpe.tokenize(piece.get()))?;
            pieces.into_encoding(None, 0, OffsetType::None)
        };
        let encoding = run().map_err(|e| Error::Tokenizer {
            origin: self.origin.clone(),
            what: format!("cannot encode a text of {} bytes: {e}", text.len()),
        })?;
        out.extend_from_slice(encoding.get_ids());
        Ok(())
    }

    /// The bytes a token stands for; empty for an id that the vocabulary does not use.
    pub fn token_bytes(&self, id: u32) -> &[u8] {
        let id = id as usize;
        match (self.starts.get(id), self.starts.get(id + 1)) {
            (Some(&from), Some(&to)) => &self.bytes[from as usize..to as usize],
            _ => &[],
        }
    }

    /// The bytes of a run of tokens, special tokens spelled out.
    pub fn decode_bytes(&self, ids: &[u32]) -> Vec<u8> {
        let tokens = ids.iter().map(|id| self.token_bytes(*id));
        tokens.flatten().copied().collect()
    }

    /// The text of a run of tokens, special tokens spelled out; invalid UTF-8 becomes U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> String {
        let mut out = Detokenizer::new();
        let mut text = String::new();
        for id in ids {
            out.push(self.token_bytes(*id), &mut text);
        }
        out.finish(&mut text);
        text
    }

    /// Whether a token is a control token: one that shapes the conversation and is not text.
    pub fn is_special(&self, id: u32) -> bool {
        self.special.get(id as usize).copied().unwrap_or(false)
    }

    /// The id of the token spelled exactly so (byte-level spelling for ordinary tokens).
    pub fn id_of(&self, token: &str) -> Option<u32> {
        self.ids.get(token).copied()
    }

    /// One more than the largest id.
    pub fn vocab_size(&self) -> usize {
        self.special.len()
    }

    /// The beginning-of-sequence token.
    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    /// The end-of-turn token.
    pub fn eos(&self) -> Option<u32> {
        self.eos
    }

    /// Every token that ends a generation, sorted.
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Whether `id` ends a generation.
    pub fn is_end(&self, id: u32) -> bool {
        self.ends.binary_search(&id).is_ok()
    }

    /// The special tokens the engine knows by name.
    pub fn special_ids(&self) -> &SpecialIds {
        &self.named
    }

    /// All added tokens, in the file's order.
    pub fn added_tokens(&self) -> &[AddedToken] {
        self.specials.tokens()
    }

    /// The guard that keeps untrusted text from spelling this tokenizer's special tokens.
    pub fn guard(&self) -> Guard {
        Guard::new(self.specials.tokens().iter().map(|t| t.content.as_str()))
    }
}
