//! Messages in the form templates expect, with untrusted strings marked.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::message::{Message, Role};
use super::template::RenderOptions;
use crate::error::{Error, Result};
use crate::tokenizer::Guard;
use crate::tool_calls::{CALL_END, CALL_START, Call, render_calls};

/// What a template is rendered with.
pub(super) struct Prepared {
    pub(super) messages: Vec<Value>,
    pub(super) tools: Vec<Value>,
    pub(super) extra: Map<String, Value>,
    pub(super) mark: char,
}

/// What decides how a string is marked.
struct Marker<'g> {
    guard: &'g Guard,
    mark: char,
}

impl Marker<'_> {
    fn untrusted(&self, text: &str) -> String {
        self.guard.mark(text, self.mark, |_| false).into_owned()
    }

    /// An assistant's own text: templates look for the end of a thought in it.
    fn reply(&self, text: &str, calls: bool) -> String {
        let keep = |s: &str| {
            matches!(s, "<think>" | "</think>") || (calls && matches!(s, CALL_START | CALL_END))
        };
        self.guard.mark(text, self.mark, keep).into_owned()
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.untrusted(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => Value::Object(self.object(fields)),
            other => other.clone(),
        }
    }

    fn object(&self, fields: &Map<String, Value>) -> Map<String, Value> {
        let fields = fields.iter();
        fields
            .map(|(key, value)| (self.untrusted(key), self.value(value)))
            .collect()
    }
}

/// `renders_calls`: the template writes calls itself; otherwise they become part of the content.
pub(super) fn prepare(
    messages: &[Message],
    options: &RenderOptions<'_>,
    guard: &Guard,
    renders_calls: bool,
) -> Result<Prepared> {
    let messages = merge_system(messages)?;
    let mark = guard.choose_mark(
        messages
            .iter()
            .flat_map(|(_, m, text)| strings_of(m, text))
            .chain(
                options
                    .tools
                    .iter()
                    .chain(options.extra.values())
                    .flat_map(strings),
            ),
    )?;
    let marker = Marker { guard, mark };
    let mut out = Vec::with_capacity(messages.len());
    for (index, message, text) in &messages {
        let value = one(message, text, &marker, options, renders_calls);
        out.push(value.map_err(|e| at(*index, &e))?);
    }
    Ok(Prepared {
        messages: out,
        tools: options
            .tools
            .iter()
            .map(|tool| marker.value(tool))
            .collect(),
        extra: marker.object(&options.extra),
        mark,
    })
}

fn at(index: usize, error: &Error) -> Error {
    Error::Input(format!("message {}: {error}", index + 1))
}

/// Joins the system and developer messages at the start into one; templates take only one.
fn merge_system(messages: &[Message]) -> Result<Vec<(usize, &Message, Cow<'_, str>)>> {
    let mut out: Vec<(usize, &Message, Cow<'_, str>)> = Vec::with_capacity(messages.len());
    let is_system = |m: &Message| matches!(m.role, Role::System | Role::Developer);
    for (index, message) in messages.iter().enumerate() {
        let text = message.plain().map_err(|e| at(index, &e))?;
        match out.first_mut() {
            Some((_, first, joined))
                if index > 0
                    && is_system(first)
                    && is_system(message)
                    && messages[..index].iter().all(is_system) =>
            {
                if !joined.is_empty() && !text.is_empty() {
                    joined.to_mut().push_str("\n\n");
                }
                joined.to_mut().push_str(&text);
            }
            _ => out.push((index, message, Cow::Owned(text))),
        }
    }
    Ok(out)
}

fn one(
    message: &Message,
    text: &str,
    marker: &Marker<'_>,
    options: &RenderOptions<'_>,
    renders_calls: bool,
) -> Result<Value> {
    let role = match message.role {
        Role::System | Role::Developer => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut out = Map::new();
    out.insert("role".into(), role.into());
    if let Some(name) = &message.name {
        out.insert("name".into(), marker.untrusted(name).into());
    }
    if let Some(id) = &message.tool_call_id {
        out.insert("tool_call_id".into(), marker.untrusted(id).into());
    }
    if message.role != Role::Assistant {
        out.insert("content".into(), marker.untrusted(text).into());
        return Ok(out.into());
    }
    if let Some(thought) = message
        .reasoning_content
        .as_deref()
        .filter(|t| !t.is_empty())
    {
        // Each generation has its own name for this field.
        for name in ["thinking", "reasoning", "reasoning_content"] {
            out.insert(name.into(), marker.untrusted(thought).into());
        }
    }
    if let Some(raw) = &message.raw_text {
        out.insert("content".into(), marker.reply(raw, true).into());
        return Ok(out.into());
    }
    let content = marker.reply(text, options.trust_call_markers);
    let mut calls = Vec::with_capacity(message.tool_calls.len());
    for call in &message.tool_calls {
        let name = marker.untrusted(&call.function.name);
        let arguments = marker.object(&call.function.object()?);
        calls.push((marker.untrusted(&call.id), name, arguments));
    }
    if calls.is_empty() || renders_calls {
        out.insert("content".into(), content.into());
        if !calls.is_empty() {
            let calls = calls.into_iter().map(|(id, name, arguments)| {
                let function = json!({"name": name, "arguments": arguments});
                json!({"id": id, "type": "function", "function": function})
            });
            out.insert("tool_calls".into(), calls.collect());
        }
    } else {
        let native: Vec<Call<'_>> = calls
            .iter()
            .map(|(_, name, arguments)| Call { name, arguments })
            .collect();
        out.insert("content".into(), (render_calls(&native) + &content).into());
    }
    Ok(out.into())
}

/// Every string of a message that can reach the prompt.
fn strings_of<'m>(message: &'m Message, text: &'m str) -> Vec<&'m str> {
    let mut all = vec![text];
    let optional = [
        &message.name,
        &message.tool_call_id,
        &message.reasoning_content,
        &message.raw_text,
    ];
    all.extend(optional.into_iter().flatten().map(String::as_str));
    for call in &message.tool_calls {
        all.extend([call.id.as_str(), call.function.name.as_str()]);
        all.extend(strings(&call.function.arguments));
    }
    all
}

fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| std::iter::once(key.as_str()).chain(strings(value)))
            .collect(),
        _ => Vec::new(),
    }
}
