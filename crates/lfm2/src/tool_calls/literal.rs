//! Literals as models write them: the union of Python's and JSON's.
//!
//! One recursive-descent reader. Where a text is a valid Python or JSON literal, it is read as
//! such; beyond that it takes raw line breaks and control characters in strings, zero-padded
//! integers, and bare words (as strings), because models write them and their meaning is plain.
//! Nothing is ever rounded or dropped: a number that JSON cannot hold becomes a string.

use serde_json::{Map, Number, Value};

/// Nesting deeper than this is an attack, not an argument.
const MAX_DEPTH: usize = 64;

/// Why a text is no literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Something else was expected.
    Syntax,
    /// A string has no further place to end.
    Unterminated,
    /// It was read, but means nothing: a name given twice, values without a name.
    Meaning,
}

/// Which quotes may end a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closers {
    /// Quotes without a backslash before them.
    Plain,
    /// Also those with one: for `'C:\dir\'`.
    Escaped,
}

/// Reads literals from a text.
pub(super) struct Reader<'t> {
    text: &'t str,
    pub(super) pos: usize,
    /// Strings opened so far.
    pub(super) opened: usize,
    /// For the n-th string, how many quotes that could end it are taken as part of it.
    skips: &'t [usize],
    closers: Closers,
    /// JSON's rules for escapes instead of Python's.
    pub(super) json: bool,
    depth: usize,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self::repairing(text, &[], Closers::Plain)
    }

    pub(super) fn repairing(text: &'t str, skips: &'t [usize], closers: Closers) -> Self {
        Self {
            text,
            pos: 0,
            opened: 0,
            skips,
            closers,
            json: false,
            depth: 0,
        }
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.pos..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.pos += c.len_utf8();
        Some(c)
    }

    pub(super) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.pos += token.len();
        }
        found
    }

    /// White space, and stray control characters, which models emit between tokens.
    pub(super) fn space(&mut self) {
        let rest = self.rest();
        let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c.is_control());
        self.pos += rest.len() - trimmed.len();
    }

    pub(super) fn at_end(&self) -> bool {
        self.pos == self.text.len()
    }

    /// A value and the white space around it.
    pub(super) fn value(&mut self) -> Result<Value, Fault> {
        if self.depth == MAX_DEPTH {
            return Err(Fault::Syntax);
        }
        self.depth += 1;
        self.space();
        let value = match self.peek() {
            None => Err(Fault::Syntax),
            Some('[') => self.sequence(']'),
            Some('(') => self.parenthesised(),
            Some('{') => self.braced(),
            Some(_) if self.string_ahead().is_some() => self.strings().map(Value::String),
            Some(_) => self.word(),
        };
        self.depth -= 1;
        self.space();
        value
    }

    fn sequence(&mut self, close: char) -> Result<Value, Fault> {
        self.bump();
        Ok(Value::Array(self.items(close)?.0))
    }

    /// The items up to `close`, and whether a comma followed the last one.
    fn items(&mut self, close: char) -> Result<(Vec<Value>, bool), Fault> {
        let (mut items, mut comma) = (Vec::new(), false);
        loop {
            self.space();
            if self.peek() == Some(close) {
                self.bump();
                return Ok((items, comma));
            }
            if !items.is_empty() && !comma {
                return Err(Fault::Syntax);
            }
            items.push(self.value()?);
            comma = self.eat(",");
        }
    }

    /// A tuple, which becomes a list, or a value in parentheses.
    fn parenthesised(&mut self) -> Result<Value, Fault> {
        self.bump();
        let (mut items, comma) = self.items(')')?;
        match items.pop() {
            Some(only) if items.is_empty() && !comma => Ok(only),
            last => {
                items.extend(last);
                Ok(Value::Array(items))
            }
        }
    }

    /// A dictionary, or a set, which becomes a list.
    fn braced(&mut self) -> Result<Value, Fault> {
        self.bump();
        let start = self.pos;
        self.space();
        if self.eat("}") {
            return Ok(Value::Object(Map::new()));
        }
        let opened = self.opened;
        let first = self.key()?;
        if self.peek() != Some(':') {
            self.pos = start;
            self.opened = opened;
            return Ok(Value::Array(self.items('}')?.0));
        }
        let (mut map, mut key) = (Map::new(), first);
        loop {
            if !self.eat(":") {
                return Err(Fault::Syntax);
            }
            if map.contains_key(&key) {
                return Err(Fault::Meaning);
            }
            let value = self.value()?;
            map.insert(std::mem::take(&mut key), value);
            let comma = self.eat(",");
            self.space();
            if self.eat("}") {
                return Ok(Value::Object(map));
            }
            if !comma {
                return Err(Fault::Syntax);
            }
            key = self.key()?;
        }
    }

    /// A dictionary's key: JSON has only strings.
    fn key(&mut self) -> Result<String, Fault> {
        self.space();
        let key = if self.string_ahead().is_some() {
            self.strings()?
        } else {
            let rest = self.rest();
            let end = rest.find([':', ',', '}', '{', '[', ']', '(', ')', '\'', '"']);
            let word = rest[..end.unwrap_or(rest.len())].trim();
            if word.is_empty() {
                // No dictionary then; perhaps a set of lists.
                return match self.value()? {
                    Value::Object(_) | Value::Array(_) => Ok(String::new()),
                    other => Ok(crate::python::dumps(&other, None)),
                };
            }
            self.pos += end.unwrap_or(rest.len());
            word.to_owned()
        };
        self.space();
        Ok(key)
    }

    /// Length of a string prefix (`r`, `b`, `u`, `f`, at most two) if a string begins here.
    fn string_ahead(&self) -> Option<usize> {
        let bytes = self.rest().as_bytes();
        let letters = bytes
            .iter()
            .take(2)
            .take_while(|b| b"rRbBuUfF".contains(b))
            .count();
        let quote = |n: &usize| matches!(bytes.get(*n), Some(b'\'' | b'"'));
        (0..=letters).find(quote)
    }

    /// A string, or several one after another, which Python joins.
    fn strings(&mut self) -> Result<String, Fault> {
        let mut text = self.string()?;
        // While quotes are being repaired, this would accept nearly every reading.
        while !self.json && self.skips.is_empty() && self.closers == Closers::Plain {
            let before = self.pos;
            self.space();
            if self.string_ahead().is_none() {
                self.pos = before;
                break;
            }
            text.push_str(&self.string()?);
        }
        Ok(text)
    }

    fn string(&mut self) -> Result<String, Fault> {
        let prefix = self.string_ahead().ok_or(Fault::Syntax)?;
        let raw = self.rest()[..prefix].contains(['r', 'R']);
        self.pos += prefix;
        let quote = self.bump().ok_or(Fault::Syntax)?;
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        let opening = self.rest();
        let long = opening.starts_with(&triple[1..]) && opening[2..].contains(&triple);
        if long {
            self.pos += 2;
        }
        let mut skip = self.skips.get(self.opened).copied().unwrap_or(0);
        self.opened += 1;
        let mut out = String::new();
        loop {
            let c = self.bump().ok_or(Fault::Unterminated)?;
            if long && c == quote && self.rest().starts_with(&triple[1..]) {
                self.pos += 2;
                return Ok(out);
            }
            if c == quote && !long {
                if skip == 0 {
                    return Ok(out);
                }
                skip -= 1;
                out.push(c);
            } else if c == '\\' {
                if self.peek() == Some(quote) && self.closers == Closers::Escaped {
                    if skip == 0 {
                        self.bump();
                        out.push('\\');
                        return Ok(out);
                    }
                    skip -= 1;
                }
                if raw {
                    out.push('\\');
                    out.extend(self.bump());
                } else {
                    self.escape(&mut out)?;
                }
            } else {
                out.push(c);
            }
        }
    }

    /// What follows a backslash. An escape that neither language knows keeps its backslash, so a
    /// regular expression survives.
    pub(super) fn escape(&mut self, out: &mut String) -> Result<(), Fault> {
        let c = self.bump().ok_or(Fault::Unterminated)?;
        match c {
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            '\\' | '\'' | '"' => out.push(c),
            '/' if self.json => out.push('/'),
            'a' if !self.json => out.push('\u{7}'),
            'v' if !self.json => out.push('\u{b}'),
            '\n' if !self.json => {}
            'u' => self.unicode('u', 4, out),
            'x' if !self.json => self.unicode('x', 2, out),
            'U' if !self.json => self.unicode('U', 8, out),
            '0'..='7' if !self.json => {
                let digits = self
                    .rest()
                    .bytes()
                    .take(2)
                    .take_while(|b| (b'0'..=b'7').contains(b));
                let len = digits.count();
                let text = &self.text[self.pos - 1..self.pos + len];
                self.pos += len;
                out.extend(u32::from_str_radix(text, 8).ok().and_then(char::from_u32));
            }
            _ => out.extend(['\\', c]),
        }
        Ok(())
    }

    fn hex(&self, at: usize, digits: usize) -> Option<u32> {
        let text = self.text.get(at..at + digits)?;
        let all = text.bytes().all(|b| b.is_ascii_hexdigit());
        all.then(|| u32::from_str_radix(text, 16).ok()).flatten()
    }

    fn unicode(&mut self, letter: char, digits: usize, out: &mut String) {
        let Some(code) = self.hex(self.pos, digits) else {
            out.extend(['\\', letter]);
            return;
        };
        self.pos += digits;
        let high = digits == 4 && (0xd800..0xdc00).contains(&code);
        let low = self
            .rest()
            .starts_with("\\u")
            .then(|| self.hex(self.pos + 2, 4))
            .flatten();
        if let (true, Some(low @ 0xdc00..0xe000)) = (high, low) {
            self.pos += 6;
            let joined = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            out.extend(char::from_u32(joined));
            return;
        }
        // Half a surrogate pair is no character; the error stays visible.
        out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
    }

    /// A number, a constant, or text without quotes.
    fn word(&mut self) -> Result<Value, Fault> {
        let text = self.bare();
        let value = match text {
            "" => return Err(Fault::Syntax),
            "True" | "true" => Value::Bool(true),
            "False" | "false" => Value::Bool(false),
            "None" | "null" => Value::Null,
            _ => number(text).unwrap_or_else(|| Value::String(text.to_owned())),
        };
        Ok(value)
    }

    /// Text up to the next delimiter outside brackets and quotes.
    fn bare(&mut self) -> &'t str {
        let start = self.pos;
        let (mut depth, mut quote) = (0usize, None);
        while let Some(c) = self.peek() {
            if let Some(q) = quote {
                if c == q {
                    quote = None;
                }
                self.bump();
                continue;
            }
            match c {
                '\'' | '"' if depth > 0 => quote = Some(c),
                // A quote in a bare word is a slip that quote repair may explain better.
                '\'' | '"' => break,
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' if depth > 0 => depth -= 1,
                ',' | ')' | ']' | '}' if depth == 0 => break,
                _ => {}
            }
            self.bump();
        }
        self.text[start..self.pos].trim_end()
    }
}

/// A number in Python's or JSON's spelling.
fn number(text: &str) -> Option<Value> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (first, last) = (digits.chars().next()?, digits.chars().next_back()?);
    if !(first.is_ascii_digit() || first == '.') || last == '_' || digits.contains("__") {
        return None;
    }
    let plain = digits.replace('_', "");
    let radix = [
        ("0x", 16),
        ("0X", 16),
        ("0o", 8),
        ("0O", 8),
        ("0b", 2),
        ("0B", 2),
    ]
    .into_iter()
    .find_map(|(prefix, radix)| Some((plain.strip_prefix(prefix)?, radix)));
    if let Some((body, radix)) = radix {
        if !body.chars().all(|c| c.is_digit(radix)) {
            return None;
        }
        return Some(integer(
            u64::from_str_radix(body, radix).ok(),
            negative,
            text,
        ));
    }
    if plain.bytes().all(|b| b.is_ascii_digit()) {
        let body = plain.trim_start_matches('0');
        let magnitude = if body.is_empty() {
            Some(0)
        } else {
            body.parse().ok()
        };
        return Some(integer(magnitude, negative, text));
    }
    let float_letters = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    if !plain.chars().all(float_letters) {
        return None;
    }
    let value: f64 = plain.parse().ok()?;
    let value = if negative { -value } else { value };
    // JSON has no infinity.
    let number = Number::from_f64(value).map(Value::Number);
    Some(number.unwrap_or_else(|| Value::String(text.to_owned())))
}

/// Exact, or as text where 64 bits do not hold it.
fn integer(magnitude: Option<u64>, negative: bool, text: &str) -> Value {
    let exact = match magnitude {
        Some(m) if !negative => Some(Value::from(m)),
        Some(m) => 0i64.checked_sub_unsigned(m).map(Value::from),
        None => None,
    };
    exact.unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Option<Value> {
        let mut reader = Reader::new(text);
        let value = reader.value().ok()?;
        reader.at_end().then_some(value)
    }

    #[test]
    fn literals() {
        let cases = [
            ("'a\\'b\"'", json!("a'b\"")),
            (r#""\u00e9\ud83d\ude00\x41\101\q\d""#, json!("é😀AA\\q\\d")),
            (r"'\ud83d'", json!("\u{fffd}")),
            (r"r'\d+\''", json!("\\d+\\'")),
            ("'''a'b\n'''", json!("a'b\n")),
            ("''", json!("")),
            ("'a' \"b\"", json!("ab")),
            ("'raw\nline'", json!("raw\nline")),
            ("07", json!(7)),
            ("-0", json!(0)),
            ("+5", json!(5)),
            ("1_000", json!(1000)),
            ("0x1F", json!(31)),
            (".5", json!(0.5)),
            ("5.", json!(5.0)),
            ("-1e-3", json!(-0.001)),
            ("1e999", json!("1e999")),
            ("NaN", json!("NaN")),
            ("-inf", json!("-inf")),
            (
                "123456789012345678901234567890",
                json!("123456789012345678901234567890"),
            ),
            ("-9223372036854775808", json!(i64::MIN)),
            ("2024-01-02", json!("2024-01-02")),
            ("hello world", json!("hello world")),
            ("date(2020, 'a)')", json!("date(2020, 'a)')")),
            (
                "[True, false, None, null]",
                json!([true, false, null, null]),
            ),
            ("(1, 2)", json!([1, 2])),
            ("(1,)", json!([1])),
            ("(1)", json!(1)),
            ("()", json!([])),
            ("{1, 'a'}", json!([1, "a"])),
            ("{}", json!({})),
            (
                "{'a': [1, {\"b\": None}], 2: 'x', c: 3,}",
                json!({"a": [1, {"b": null}], "2": "x", "c": 3}),
            ),
        ];
        for (text, value) in cases {
            assert_eq!(read(text), Some(value), "{text}");
        }
    }

    #[test]
    fn faults() {
        for text in [
            "",
            "'a",
            "[1",
            "{'a' 1}",
            "{'a': 1, 'a': 2}",
            "[,]",
            "'a'b",
            "a'b",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(read(&deep), None);
    }
}
