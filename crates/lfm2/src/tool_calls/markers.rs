//! Finds markers in a stream of text, however it is cut.

use super::{CALL_END, CALL_START};

/// A token, or the text that spells it, that changes what the output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// `<|tool_call_start|>`
    CallStart,
    /// `<|tool_call_end|>`
    CallEnd,
    /// `<think>`
    ThinkStart,
    /// `</think>`
    ThinkEnd,
    /// `<|im_end|>` or `<|endoftext|>`
    TurnEnd,
}

const SPELLINGS: [(&str, Marker); 6] = [
    ("<think>", Marker::ThinkStart),
    ("</think>", Marker::ThinkEnd),
    (CALL_START, Marker::CallStart),
    (CALL_END, Marker::CallEnd),
    ("<|im_end|>", Marker::TurnEnd),
    ("<|endoftext|>", Marker::TurnEnd),
];

/// How many of [`SPELLINGS`] are plain text in some vocabularies, and always looked for in text.
const THOUGHTS: usize = 2;

impl Marker {
    /// The marker a token stands for, by its spelling.
    pub fn of(token: &str) -> Option<Self> {
        SPELLINGS.iter().find(|(s, _)| *s == token).map(|(_, m)| *m)
    }

    /// Its text, where it turns out to mark nothing.
    pub(super) fn spelling(self) -> &'static str {
        SPELLINGS
            .iter()
            .find(|(_, m)| *m == self)
            .map_or("", |(s, _)| s)
    }
}

/// A piece of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Marker(Marker),
}

/// Splits text into pieces; holds back what may become a marker.
#[derive(Debug)]
pub(super) struct Lexer {
    held: String,
    spellings: &'static [(&'static str, Marker)],
}

impl Lexer {
    /// `all`: look for all markers in text; otherwise only for those around thoughts.
    pub(super) fn new(all: bool) -> Self {
        Self {
            held: String::new(),
            spellings: if all {
                &SPELLINGS
            } else {
                &SPELLINGS[..THOUGHTS]
            },
        }
    }

    pub(super) fn push(&mut self, text: &str) -> Vec<Piece> {
        self.held.push_str(text);
        let (mut out, mut plain, mut rest) = (Vec::new(), String::new(), self.held.as_str());
        while let Some(at) = rest.find('<') {
            plain.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some((spelling, marker)) =
                self.spellings.iter().find(|(s, _)| rest.starts_with(s))
            {
                if !plain.is_empty() {
                    out.push(Piece::Text(std::mem::take(&mut plain)));
                }
                out.push(Piece::Marker(*marker));
                rest = &rest[spelling.len()..];
            } else if self.spellings.iter().any(|(s, _)| s.starts_with(rest)) {
                break;
            } else {
                plain.push('<');
                rest = &rest[1..];
            }
        }
        let open = if rest.starts_with('<') { rest.len() } else { 0 };
        plain.push_str(&rest[..rest.len() - open]);
        if !plain.is_empty() {
            out.push(Piece::Text(plain));
        }
        let done = self.held.len() - open;
        self.held.drain(..done);
        out
    }

    /// What was held back, which is text after all.
    pub(super) fn flush(&mut self) -> Option<Piece> {
        let held = std::mem::take(&mut self.held);
        (!held.is_empty()).then_some(Piece::Text(held))
    }
}
