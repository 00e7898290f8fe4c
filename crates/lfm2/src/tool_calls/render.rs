//! Calls as the models write them: `<|tool_call_start|>[f(a='x', b=2)]<|tool_call_end|>`.

use serde_json::{Map, Value};

use super::{CALL_END, CALL_START};
use crate::python;

/// A call to be written out.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The function's name.
    pub name: &'a str,
    /// Its arguments by name.
    pub arguments: &'a Map<String, Value>,
}

/// A block of calls with its markers, as the newest generation of the family writes it: strings in
/// single quotes with `\`, `'` and line breaks escaped, lists and objects as JSON, the rest as
/// Python. [`super::Parser`] reads it back unchanged.
pub fn render_calls(calls: &[Call<'_>]) -> String {
    let mut out = format!("{CALL_START}[");
    for (i, call) in calls.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        out.push_str(call.name);
        out.push('(');
        let (named, odd): (Vec<_>, Vec<_>) =
            call.arguments.iter().partition(|(key, _)| is_name(key));
        let mut first = true;
        for (key, value) in named {
            if !std::mem::take(&mut first) {
                out.push_str(", ");
            }
            out.push_str(key);
            out.push('=');
            write_value(value, &mut out);
        }
        if !odd.is_empty() {
            // Python's own way to pass names that are no identifiers.
            let odd: Map<String, Value> = odd
                .into_iter()
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect();
            out.push_str(if first { "**" } else { ", **" });
            out.push_str(&python::dumps(&Value::Object(odd), None));
        }
        out.push(')');
    }
    out.push(']');
    out.push_str(CALL_END);
    out
}

fn is_name(key: &str) -> bool {
    let mut chars = key.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push('\'');
            for c in text.chars() {
                match c {
                    '\\' => out.push_str("\\\\"),
                    '\'' => out.push_str("\\'"),
                    '\n' => out.push_str("\\n"),
                    '\r' => out.push_str("\\r"),
                    c => out.push(c),
                }
            }
            out.push('\'');
        }
        Value::Array(_) | Value::Object(_) => out.push_str(&python::dumps(value, None)),
        other => out.push_str(&python::str(other)),
    }
}
