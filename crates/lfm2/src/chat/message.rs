//! Messages, in the shape of OpenAI's chat completions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions.
    System,
    /// Newer clients' word for [`Role::System`]; treated the same.
    Developer,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The result of a call.
    Tool,
}

/// A message's content: text, a list of parts, or nothing (`null` or absent).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// `null`.
    #[default]
    None,
    /// A string.
    Text(String),
    /// Parts, in order.
    Parts(Vec<Part>),
}

/// One part of a message's content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// `text`, or a kind this family cannot read.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text of a `text` part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The text of a `refusal` part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

/// A call in an assistant's message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Ties a result to this call.
    #[serde(default)]
    pub id: String,
    /// Always `function`.
    #[serde(rename = "type", default = "function")]
    pub kind: String,
    /// What is called.
    pub function: FunctionCall,
}

fn function() -> String {
    "function".into()
}

/// A function's name and arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionCall {
    /// The name.
    pub name: String,
    /// The arguments: an object, or a string that holds one as JSON.
    #[serde(default)]
    pub arguments: Value,
}

impl FunctionCall {
    /// The arguments as an object, however they were given. Nothing (`null`, an empty string)
    /// counts as no arguments.
    pub fn object(&self) -> Result<Map<String, Value>> {
        let wrong = |what: &str| {
            Error::Input(format!(
                "arguments of the call to {:?}: {what}; expected a JSON object",
                self.name
            ))
        };
        let value = match &self.arguments {
            Value::String(text) if text.trim().is_empty() => Value::Null,
            Value::String(text) => {
                serde_json::from_str(text).map_err(|e| wrong(&format!("not valid JSON ({e})")))?
            }
            other => other.clone(),
        };
        match value {
            Value::Null => Ok(Map::new()),
            Value::Object(map) => Ok(map),
            Value::Array(_) => Err(wrong("a list")),
            _ => Err(wrong("a single value")),
        }
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    #[serde(default)]
    pub content: Content,
    /// The calls an assistant makes.
    #[serde(
        default,
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tool_calls: Vec<ToolCall>,
    /// The call a tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The speaker's or the tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The assistant's thoughts.
    #[serde(
        default,
        alias = "reasoning",
        alias = "thinking",
        skip_serializing_if = "Option::is_none"
    )]
    pub reasoning_content: Option<String>,
    /// The model's own text of this turn behind its thoughts, calls and markers included, byte for
    /// byte. Where present it is replayed instead of `content` and `tool_calls`, so that the prompt
    /// repeats what was generated and the state computed then stays valid. Never read from a
    /// request.
    #[serde(skip)]
    pub raw_text: Option<String>,
}

fn null_is_empty<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Vec<ToolCall>, D::Error> {
    Ok(Option::deserialize(d)?.unwrap_or_default())
}

impl Message {
    /// A message that is nothing but text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            content: Content::Text(text.into()),
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
            reasoning_content: None,
            raw_text: None,
        }
    }

    /// The content as one string: parts joined in order. A part that is no text is an error.
    pub fn plain(&self) -> Result<String> {
        match &self.content {
            Content::None => Ok(String::new()),
            Content::Text(text) => Ok(text.clone()),
            Content::Parts(parts) => parts.iter().try_fold(String::new(), |mut out, part| {
                match (part.kind.as_str(), &part.text, &part.refusal) {
                    ("text" | "input_text" | "output_text", Some(text), _)
                    | ("refusal", _, Some(text)) => out.push_str(text),
                    (kind @ ("text" | "input_text" | "output_text" | "refusal"), ..) => {
                        return Err(Error::Input(format!(
                            "a content part of type {kind:?} has no text"
                        )));
                    }
                    (kind, ..) => {
                        return Err(Error::Input(format!(
                            "a content part of type {kind:?}: this model reads text only"
                        )));
                    }
                }
                Ok(out)
            }),
        }
    }
}
