//! Random-weight models of any configuration of the family, in any format, with behaviour that makes them
//! worth measuring: activations of sane size, logits with clear gaps, skewed routing.
//!
//! Every matrix weight is `s·(q − 8)` with a code `q` from 1 to 15 and a scale `s` of five significant
//! bits. That number is exact in bf16, f16, F32, MLX affine and every GGUF type, so **the same seed gives
//! the same weights, to the last bit, in every format**. Codes come from a counter-based generator: any row
//! of any tensor can be made alone, in parallel, and straight into the stored form.
//!
//! The recipe and its measured effects are in `docs/synth.md`.

mod pack;
mod recipe;
mod rng;
mod tokenizer;
mod values;

use std::path::Path;

use crate::chat::Generation;
use crate::config::Config;
use crate::error::Result;
use crate::write::{Extras, Target, WriteOptions, Written, write_model};

pub use recipe::Recipe;
pub use tokenizer::tokenizer_json;
pub use values::Synthetic;

/// Writes a random-weight model with a tokenizer and a chat template, ready to run.
///
/// The tokenizer is byte-level with made-up words; configurations too small for its bytes and special
/// tokens get none.
///
/// # Errors
/// As [`write_model`].
pub fn write(
    path: &Path,
    config: &Config,
    target: &Target,
    recipe: Recipe,
    name: &str,
    options: WriteOptions<'_>,
) -> Result<Written> {
    let tokenizer = tokenizer_json(config);
    let large = config.vocab_size > 124_908;
    let extras = Extras {
        chat_template: tokenizer.is_some().then(|| {
            if large {
                Generation::V4
            } else {
                Generation::V2
            }
            .source()
            .to_owned()
        }),
        tokenizer_json: tokenizer,
        name: Some(name.to_owned()),
    };
    let values = Synthetic::new(config, recipe);
    write_model(path, config, target, &values, &extras, options)
}
