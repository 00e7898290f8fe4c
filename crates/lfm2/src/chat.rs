//! Conversations: messages in the OpenAI shape, and the chat template that turns them into a
//! prompt.
//!
//! The template is the checkpoint's own wherever it has one; [`Generation`] holds one for each
//! generation of the family as a fallback. What a user, a tool or a client's history says can
//! never become a special token: see [`crate::tokenizer::Prompt`].

mod clock;
mod engine;
mod message;
mod prepare;
mod source;
mod template;

pub use message::{Content, FunctionCall, Message, Part, Role, ToolCall};
pub use template::{ChatTemplate, Generation, RenderOptions};
