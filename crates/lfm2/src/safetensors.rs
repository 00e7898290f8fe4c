//! The safetensors container: an 8-byte length, a JSON header, and tensor bytes.
//!
//! A header is checked whole before anything is believed: lengths against the file, shapes against byte
//! ranges, ranges against each other.

mod header;
mod names;
mod source;

pub(crate) use names::module_names;

pub use header::{Entry, Header};
pub use source::Safetensors;
