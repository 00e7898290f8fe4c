//! What an LFM2 / LFM2.5 model *is*: configuration, shapes, weight files, tokenizer, chat template,
//! tool-call syntax, and the FP32 reference forward pass.
//!
//! This crate knows no device and no session; everything above builds on it.

pub mod chat;
pub mod config;
pub mod error;
pub mod family;
pub mod gguf;
mod mapped;
pub mod open;
pub mod oracle;
mod python;
pub mod quant;
pub mod reference;
pub mod safetensors;
pub mod shapes;
pub mod synth;
pub mod tensor;
pub mod tokenizer;
pub mod tool_calls;
pub mod weights;
pub mod write;

pub use config::{Config, FfnKind, LayerKind, MoeConfig};
pub use error::{Error, Result};
pub use open::{Opened, open, open_gguf_bytes, open_safetensors_bytes};
pub use tensor::{FfnPart, LayerTensor, TensorId};
pub use tokenizer::Tokenizer;
pub use weights::WeightSource;
