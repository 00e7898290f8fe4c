//! The GGUF container.

mod metadata;

pub use metadata::{Metadata, Value};
