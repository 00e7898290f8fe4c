//! Calls without their markers: text at the start of a line that begins like a call of a known
//! tool is held back until it is one, or is not.

use super::Tool;
use super::block::name_len;

/// Longer than this, it is prose.
const MAX_LEN: usize = 1 << 20;

/// Keys with which a call in the JSON form begins.
const KEYS: [&str; 6] = ["name", "function", "type", "id", "arguments", "parameters"];

/// What is known of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may become a call.
    Maybe,
    /// It is ordinary text.
    Dead,
    /// It is complete: its brackets are closed and the line is over.
    Done,
}

/// Text that may be a call without markers.
#[derive(Debug)]
pub(super) struct Candidate {
    text: String,
    begun: bool,
    depth: usize,
    quote: Option<char>,
    escaped: bool,
    closed: bool,
}

impl Candidate {
    /// Starts with `c`, if a call may start so. Only at the very start of a reply may a call stand
    /// without a list's bracket.
    pub(super) fn start(c: char, fresh: bool, tools: &[Tool]) -> Option<Self> {
        let name = || fresh && tools.iter().any(|t| t.name.starts_with(c));
        if tools.is_empty() || !(c == '[' || c == '{' || name()) {
            return None;
        }
        let mut this = Self {
            text: String::new(),
            begun: false,
            depth: 0,
            quote: None,
            escaped: false,
            closed: false,
        };
        (this.push(c, tools) != Verdict::Dead).then_some(this)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Whether it certainly begins like a call.
    pub(super) fn begun(&self) -> bool {
        self.begun
    }

    /// Takes a character. A line break that makes it [`Verdict::Done`] is not taken.
    pub(super) fn push(&mut self, c: char, tools: &[Tool]) -> Verdict {
        if self.closed {
            match c {
                '\n' => return Verdict::Done,
                ',' if !self.text.starts_with(['[', '{']) => self.closed = false,
                c if c.is_whitespace() => {}
                _ => {
                    self.text.push(c);
                    return Verdict::Dead;
                }
            }
        }
        self.text.push(c);
        if self.text.len() > MAX_LEN {
            return Verdict::Dead;
        }
        self.balance(c);
        if !self.begun {
            match head(&self.text, tools) {
                Head::Dead => return Verdict::Dead,
                Head::Open => {}
                Head::Call => self.begun = true,
            }
        }
        Verdict::Maybe
    }

    fn balance(&mut self, c: char) {
        if std::mem::take(&mut self.escaped) {
            return;
        }
        if let Some(quote) = self.quote {
            if c == quote {
                self.quote = None;
            }
            self.escaped = c == '\\';
            return;
        }
        match c {
            '\'' | '"' if self.depth > 0 => self.quote = Some(c),
            '(' | '[' | '{' => self.depth += 1,
            ')' | ']' | '}' => {
                self.depth = self.depth.saturating_sub(1);
                self.closed = self.depth == 0;
            }
            _ => {}
        }
    }
}

enum Head {
    Dead,
    Open,
    Call,
}

fn head(text: &str, tools: &[Tool]) -> Head {
    let text = text.strip_prefix('[').unwrap_or(text).trim_start();
    if text.is_empty() {
        return Head::Open;
    }
    if let Some(fields) = text.strip_prefix('{') {
        return json_head(fields.trim_start());
    }
    let name = &text[..name_len(text)];
    let after = text[name.len()..].trim_start();
    if after.is_empty() && name.len() == text.len() {
        let any = !name.is_empty() && tools.iter().any(|t| t.name.starts_with(name));
        return if any { Head::Open } else { Head::Dead };
    }
    match tools.iter().any(|t| t.name == name) {
        true if after.is_empty() => Head::Open,
        true if after.starts_with('(') => Head::Call,
        _ => Head::Dead,
    }
}

fn json_head(fields: &str) -> Head {
    let mut chars = fields.chars();
    let quote = match chars.next() {
        None => return Head::Open,
        Some(quote @ ('"' | '\'')) => quote,
        Some(_) => return Head::Dead,
    };
    let rest = chars.as_str();
    match rest.split_once(quote) {
        Some((key, _)) if KEYS.contains(&key) => Head::Call,
        None if KEYS.iter().any(|key| key.starts_with(rest)) => Head::Open,
        _ => Head::Dead,
    }
}
