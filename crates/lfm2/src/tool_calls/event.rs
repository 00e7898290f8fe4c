//! What goes into the parser and what comes out.

use super::Tool;

/// What the parser found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Part of the model's thoughts.
    Reasoning(String),
    /// Part of the reply's text.
    Content(String),
    /// The inside of a block, or a part of it, that cannot be read as a call. To be shown as
    /// content; that it is not an ordinary reply is worth a warning.
    Unparsed(String),
    /// A call begins.
    ToolCallStart {
        /// Its number in this reply, over all blocks, from 0.
        index: usize,
        /// A new id.
        id: String,
        /// The function's name.
        name: String,
    },
    /// Part of a call's arguments; all parts together are one JSON object.
    ToolCallArgs {
        /// The call's number.
        index: usize,
        /// JSON text.
        delta: String,
    },
    /// A call that began will not be completed: its arguments stay unfinished JSON, because the
    /// model was cut off or wrote something unreadable.
    ToolCallBroken {
        /// The call's number.
        index: usize,
    },
    /// A call is complete.
    ToolCallEnd {
        /// The call's number.
        index: usize,
    },
}

/// Where thoughts are to be expected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reasoning {
    /// Nowhere: `<think>` is text.
    Off,
    /// The reply may begin with `<think>`.
    #[default]
    Auto,
    /// The prompt ends inside a thought, so the reply begins in it.
    Open,
}

/// How a [`super::Parser`] reads.
#[derive(Debug, Clone)]
pub struct Options {
    /// The tools the model was offered. Names decide about calls without markers, parameters about
    /// arguments without names. Calls of other functions are passed on where they are marked.
    pub tools: Vec<Tool>,
    /// Where thoughts are to be expected.
    pub reasoning: Reasoning,
    /// Whether markers come as text. Otherwise only [`super::Parser::push_marker`] brings them, and text
    /// that merely spells one, such as a string in a call, stays text.
    pub markers_in_text: bool,
    /// Makes ids repeatable; `None` takes a new seed.
    pub id_seed: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tools: Vec::new(),
            reasoning: Reasoning::Auto,
            markers_in_text: true,
            id_seed: None,
        }
    }
}
