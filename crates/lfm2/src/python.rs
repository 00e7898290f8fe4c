//! JSON values as Python spells them: what `json.dumps(ensure_ascii=False)`, `str` and `repr`
//! give. Chat templates of the family were written for Python, and the models saw its output.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// `repr` of a float: the shortest digits that read back, with an exponent outside 1e-4..1e16.
pub(crate) fn float(v: f64) -> String {
    if v.is_nan() {
        return "nan".into();
    }
    if v.is_infinite() {
        return if v > 0.0 { "inf" } else { "-inf" }.into();
    }
    let exponential = format!("{v:e}");
    let (digits, exponent) = exponential.split_once('e').unwrap_or((&exponential, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if v == 0.0 || (-4..16).contains(&exponent) {
        let plain = v.to_string();
        return if plain.contains('.') {
            plain
        } else {
            plain + ".0"
        };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

fn number(n: &Number) -> String {
    match n.as_f64() {
        Some(v) if n.is_f64() => float(v),
        _ => n.to_string(),
    }
}

/// A JSON string literal; only what must be escaped is.
pub(crate) fn quote_json(text: &str, out: &mut String) {
    out.push('"');
    escape_json(text, out);
    out.push('"');
}

/// The inside of a JSON string literal.
pub(crate) fn escape_json(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
}

/// `json.dumps` with `ensure_ascii=False`, its default separators and an optional indent.
pub(crate) fn dumps(value: &Value, indent: Option<usize>) -> String {
    let mut out = String::new();
    write_json(value, indent, 0, &mut out);
    out
}

fn write_json(value: &Value, indent: Option<usize>, depth: usize, out: &mut String) {
    let line = |depth: usize, out: &mut String| {
        if let Some(width) = indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', width * depth));
        }
    };
    let comma = if indent.is_some() { "," } else { ", " };
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(n) => out.push_str(&number(n)),
        Value::String(s) => quote_json(s, out),
        Value::Array(items) if items.is_empty() => out.push_str("[]"),
        Value::Object(fields) if fields.is_empty() => out.push_str("{}"),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(comma);
                }
                line(depth + 1, out);
                write_json(item, indent, depth + 1, out);
            }
            line(depth, out);
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (i, (key, item)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push_str(comma);
                }
                line(depth + 1, out);
                quote_json(key, out);
                out.push_str(": ");
                write_json(item, indent, depth + 1, out);
            }
            line(depth, out);
            out.push('}');
        }
    }
}

/// `str`: strings as they are, everything else as `repr`.
pub(crate) fn str(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        other => {
            let mut out = String::new();
            repr(other, &mut out);
            out
        }
    }
}

fn repr(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(n) => out.push_str(&number(n)),
        Value::String(s) => repr_string(s, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                repr(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (i, (key, item)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                repr_string(key, out);
                out.push_str(": ");
                repr(item, out);
            }
            out.push('}');
        }
    }
}

fn repr_string(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if printable(c) => out.push(c),
            c => {
                let code = c as u32;
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
}

/// `str.isprintable`, for the characters that occur: controls, formats, odd spaces and private use
/// are not. Unassigned code points, which change with Python's version, count as printable.
fn printable(c: char) -> bool {
    !(c.is_control()
        || matches!(c,
            '\u{a0}' | '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{1680}' | '\u{180e}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}'
            | '\u{205f}'..='\u{206f}' | '\u{3000}' | '\u{e000}'..='\u{f8ff}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{10ffff}'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn floats() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (0.5, "0.5"),
            (2.0, "2.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
            (1e300, "1e+300"),
            (0.1 + 0.2, "0.30000000000000004"),
            (123456789.125, "123456789.125"),
        ];
        for (v, text) in cases {
            assert_eq!(float(v), text);
        }
    }

    #[test]
    fn values() {
        let v = json!({"b": [1, -2.0, true, null, "é\"\\\n\u{1}"], "a": {}, "c": []});
        assert_eq!(
            dumps(&v, None),
            r#"{"b": [1, -2.0, true, null, "é\"\\\n\u0001"], "a": {}, "c": []}"#
        );
        assert_eq!(
            dumps(&json!({"a": [1, {"b": 2}], "c": []}), Some(2)),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": 2\n    }\n  ],\n  \"c\": []\n}"
        );
        assert_eq!(
            str(&v),
            r#"{'b': [1, -2.0, True, None, 'é"\\\n\x01'], 'a': {}, 'c': []}"#
        );
        assert_eq!(
            str(&json!(["it's", "'\"", "\u{200b}"])),
            r#"["it's", '\'"', '\u200b']"#
        );
        assert_eq!(str(&json!("plain")), "plain");
    }
}
