//! The family's tool-call syntax, both ways.
//!
//! [`Parser`] reads a model's raw output as it arrives and splits it into thoughts, text and calls.
//! [`render_calls`] writes calls as the models do, for histories.

mod render;

pub use render::{Call, render_calls};

/// Opens a block of calls.
pub const CALL_START: &str = "<|tool_call_start|>";
/// Closes a block of calls.
pub const CALL_END: &str = "<|tool_call_end|>";
