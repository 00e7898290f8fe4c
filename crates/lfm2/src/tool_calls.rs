//! The family's tool-call syntax, both ways.
//!
//! [`Parser`] reads a model's raw output as it arrives and splits it into thoughts, text and calls.
//! [`render_calls`] writes calls as the models do, for histories.

mod bare;
mod block;
mod event;
mod literal;
mod live;
mod markers;
mod parser;
mod render;

use serde_json::Value;

pub use event::{Event, Options, Reasoning};
pub use markers::Marker;
pub use parser::Parser;
pub use render::{Call, render_calls};

/// Opens a block of calls.
pub const CALL_START: &str = "<|tool_call_start|>";
/// Closes a block of calls.
pub const CALL_END: &str = "<|tool_call_end|>";

/// A tool the model may call, as far as reading its calls needs to know it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// The names of its parameters, in the schema's order.
    pub parameters: Vec<String>,
}

impl Tool {
    /// From a tool as a client sends it: OpenAI's wrapper or the bare function object.
    pub fn from_json(tool: &Value) -> Option<Self> {
        let function = tool.get("function").unwrap_or(tool);
        let properties = function.pointer("/parameters/properties");
        let properties = properties.and_then(Value::as_object);
        Some(Self {
            name: function.get("name")?.as_str()?.to_owned(),
            parameters: properties
                .map(|p| p.keys().cloned().collect())
                .unwrap_or_default(),
        })
    }
}
