//! The GGUF container, version 3.

mod metadata;
mod reader;
mod source;

pub use metadata::{Metadata, Value};
pub use reader::{GgmlType, Parsed, TensorInfo, parse};
pub use source::Gguf;
pub(crate) use source::name as stored_name;
