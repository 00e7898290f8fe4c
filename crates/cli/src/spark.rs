//! The embedded demo model, compiled into the binary.

/// `config.json`.
pub(crate) const CONFIG: &[u8] = include_bytes!("../../../models/spark/config.json");
/// `tokenizer.json`.
pub(crate) const TOKENIZER: &[u8] = include_bytes!("../../../models/spark/tokenizer.json");
/// The chat template.
pub(crate) const TEMPLATE: &str = include_str!("../../../models/spark/chat_template.jinja");
/// `generation_config.json`.
pub(crate) const GENERATION: &[u8] = include_bytes!("../../../models/spark/generation_config.json");
/// The weights, on a border that lets them be read in place.
pub(crate) static WEIGHTS: &[u8] = include_bytes!("../../../models/spark/model.safetensors");
