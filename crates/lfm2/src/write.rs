//! Writing models: Hugging Face safetensors, MLX affine safetensors, and GGUF with llama.cpp's mixes.
//!
//! A model is planned whole before a byte is written: every stored array has its place, so that threads
//! fill the files in any order with bounded memory. Files get their names when they are complete;
//! `config.json`, which makes a directory a model, comes last.

mod fill;
mod gguf;
mod mix;
mod plan;
mod safetensors;
mod storage;
mod temp;
mod tokenizer;
mod values;

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::config::{Config, Quantization, QuantizationConfig};
use crate::error::{Error, Result};
use crate::quant::FloatType;
use crate::tensor::TensorId;

pub use mix::{Mix, mlx_rules};
pub use storage::{Encoded, Storage};
pub use tokenizer::GgufTokenizer;
pub use values::{Stored, Values};

/// The form a model is written in.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A directory with `config.json` and safetensors under Hugging Face's names; one tensor per expert.
    HuggingFace {
        /// Type of everything but the selection bias, which stays F32.
        float: FloatType,
        /// Files of at most about this many bytes and an index; `None` for one file.
        shard_bytes: Option<u64>,
    },
    /// A directory with `config.json` and safetensors under MLX's names, experts stacked.
    Mlx {
        /// Which module gets how many bits; see [`mlx_rules`]. A matrix whose rows are no multiple of its
        /// group stays plain.
        quantization: QuantizationConfig,
        /// Type of scales, biases and of what is not quantised.
        float: FloatType,
    },
    /// One `.gguf` file.
    Gguf(Mix),
}

impl Target {
    /// MLX affine with the usual exceptions: routers at 8 bits, group 64.
    pub fn mlx(config: &Config, bits: u32, group: usize) -> Self {
        Self::Mlx {
            quantization: mlx_rules(config, Quantization { bits, group }),
            float: FloatType::Bf16,
        }
    }

    /// How the tensor `id` is stored.
    pub fn storage(&self, config: &Config, id: TensorId) -> Storage {
        mix::storage(self, config, id)
    }
}

/// What goes beside or into the weights.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    /// `tokenizer.json`, as bytes.
    pub tokenizer_json: Option<Vec<u8>>,
    /// The chat template (Jinja).
    pub chat_template: Option<String>,
    /// The model's name (`general.name` of a GGUF).
    pub name: Option<String>,
}

/// What was written.
#[derive(Debug, Clone)]
pub struct Written {
    /// The directory, or the `.gguf` file.
    pub path: PathBuf,
    /// Bytes of all weight files.
    pub bytes: u64,
}

/// How to write.
#[derive(Clone, Copy)]
pub struct WriteOptions<'a> {
    /// Threads that encode, at least 1.
    pub threads: usize,
    /// Called with (bytes written, bytes in all), from any thread; `false` stops the work.
    pub progress: &'a (dyn Fn(u64, u64) -> bool + Sync),
}

impl Default for WriteOptions<'_> {
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            progress: &|_, _| true,
        }
    }
}

impl std::fmt::Debug for WriteOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WriteOptions({} threads)", self.threads)
    }
}

/// Writes a model of configuration `config` whose weights are `values`.
///
/// `path` is a directory (made if absent) for safetensors, and a `.gguf` file for GGUF. Nothing is ever
/// overwritten: an existing model there is an error. The configuration's own `quantization` is replaced by
/// the target's.
///
/// # Errors
/// When `path` is taken, the disk is too small or full (the message says how much is needed), or `values`
/// fails; no partial file remains.
pub fn write_model(
    path: &Path,
    config: &Config,
    target: &Target,
    values: &dyn Values,
    extras: &Extras,
    options: WriteOptions<'_>,
) -> Result<Written> {
    let config = Config {
        quantization: match target {
            Target::Mlx { quantization, .. } => Some(quantization.clone()),
            _ => None,
        },
        ..config.clone()
    };
    config.validate("the configuration to write")?;
    // Both arms are of a size; `if let` would hide that there are two kinds of target.
    #[allow(clippy::single_match_else)]
    let (dir, plan) = match target {
        Target::Gguf(mix) => {
            if path
                .extension()
                .is_none_or(|e| !e.eq_ignore_ascii_case("gguf"))
            {
                return Err(Error::file(
                    path,
                    "is no name for a GGUF file: give it the ending .gguf",
                ));
            }
            if path.exists() {
                return Err(Error::file(
                    path,
                    "exists already: remove it or choose another name",
                ));
            }
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let dir = match path.parent() {
                Some(p) if !p.as_os_str().is_empty() => p,
                _ => Path::new("."),
            };
            (dir, gguf::plan(&config, *mix, &name, extras)?)
        }
        _ => {
            for taken in ["config.json", safetensors::SINGLE, safetensors::INDEX] {
                if path.join(taken).exists() {
                    let what =
                        format!("holds a {taken} already: remove it or choose another directory");
                    return Err(Error::file(path, what));
                }
            }
            (path, safetensors::plan(&config, target))
        }
    };
    std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, "cannot make the directory", e))?;
    let total = plan.bytes();
    temp::check_space(dir, total)?;
    let files = fill::fill(dir, &plan, values, options)?;
    for file in files {
        file.finish()?;
    }
    if !matches!(target, Target::Gguf(_)) {
        beside(path, &config, &plan, extras)?;
    }
    Ok(Written {
        path: path.to_owned(),
        bytes: total,
    })
}

/// The small files of a directory, `config.json` last.
fn beside(dir: &Path, config: &Config, plan: &plan::Plan, extras: &Extras) -> Result<()> {
    if let Some(index) = safetensors::index(plan) {
        json(dir, safetensors::INDEX, &index)?;
    }
    if let Some(tokenizer) = &extras.tokenizer_json {
        temp::write_small(dir, "tokenizer.json", tokenizer)?;
        json(
            dir,
            "tokenizer_config.json",
            &tokenizer::hf_config(tokenizer, config)?,
        )?;
    }
    if let Some(template) = &extras.chat_template {
        temp::write_small(dir, "chat_template.jinja", template.as_bytes())?;
    }
    let ids = serde_json::json!({
        "bos_token_id": config.bos_token, "eos_token_id": config.eos_token, "pad_token_id": config.pad_token,
    });
    json(dir, "generation_config.json", &ids)?;
    json(dir, "config.json", &config.to_json())
}

fn json(dir: &Path, name: &str, value: &Json) -> Result<()> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|e| Error::file(&dir.join(name), format!("cannot be written: {e}")))?;
    text.push(b'\n');
    temp::write_small(dir, name, &text)
}
