//! Where a model keeps its chat template.

use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;

use super::template::{ChatTemplate, Generation};
use crate::error::{Error, Result};
use crate::gguf::Metadata;
use crate::tokenizer::Tokenizer;

#[derive(Deserialize)]
#[serde(untagged)]
enum Templates {
    One(String),
    Named(Vec<Named>),
}

#[derive(Deserialize)]
struct Named {
    name: String,
    template: String,
}

#[derive(Deserialize)]
struct TokenizerConfig {
    chat_template: Option<Templates>,
}

impl ChatTemplate {
    /// The template of a Hugging Face or MLX directory: `chat_template.jinja`, else the one in
    /// `tokenizer_config.json` (of several, `default`, then `tool_use`, then the first), else the
    /// built-in one that fits the vocabulary.
    pub fn from_dir(dir: &Path, tokenizer: &Tokenizer) -> Result<Self> {
        if let Some(bytes) = read(&dir.join("chat_template.jinja"))? {
            let source = String::from_utf8(bytes).map_err(|_| Error::Template {
                what: format!("{} is not UTF-8", dir.join("chat_template.jinja").display()),
            })?;
            return Self::new(&source, tokenizer);
        }
        let path = dir.join("tokenizer_config.json");
        let config = match read(&path)? {
            None => None,
            Some(bytes) => {
                serde_json::from_slice::<TokenizerConfig>(&bytes)
                    .map_err(|e| {
                        Error::config(&path.display().to_string(), "chat_template", e.to_string())
                    })?
                    .chat_template
            }
        };
        match config {
            Some(Templates::One(source)) => Self::new(&source, tokenizer),
            Some(Templates::Named(all)) => {
                let by_name = |name: &str| all.iter().find(|t| t.name == name);
                match by_name("default")
                    .or_else(|| by_name("tool_use"))
                    .or(all.first())
                {
                    Some(t) => Self::new(&t.template, tokenizer),
                    None => Self::builtin(Generation::guess(tokenizer), tokenizer),
                }
            }
            None => Self::builtin(Generation::guess(tokenizer), tokenizer),
        }
    }

    /// The template of a GGUF file, else the built-in one that fits the vocabulary.
    pub fn from_gguf(metadata: &Metadata, tokenizer: &Tokenizer) -> Result<Self> {
        let key = "tokenizer.chat_template";
        match metadata.get(key) {
            Some(_) => Self::new(metadata.string(key)?, tokenizer),
            None => Self::builtin(Generation::guess(tokenizer), tokenizer),
        }
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io(path, "cannot read", e)),
    }
}
