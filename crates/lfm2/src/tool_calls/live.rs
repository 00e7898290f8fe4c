//! Long arguments while they are being written.
//!
//! A call is normally passed on when its block is complete. That is no use when a model writes a
//! file of three pages into one string, so such a call goes out early: once a string argument is
//! long and no quote has yet had a chance to end it, its text is certain up to here whatever
//! follows. It is passed on until the first such quote; the rest waits for the end of the block,
//! whose reading must then continue what was sent.

use serde_json::{Map, Value};

use super::Tool;
use super::block::{self, Parsed};
use super::literal::Reader;
use crate::python;

/// A string is long from this many bytes on.
const LONG: usize = 128;
/// More than the longest escape, a pair of `\uXXXX`, needs behind its first backslash.
const ESCAPE: usize = 12;

/// A call whose arguments are being passed on.
#[derive(Debug)]
pub(super) struct Live {
    /// Where the call begins in the block.
    pub(super) at: usize,
    pub(super) name: String,
    /// The calls before it in the block.
    pub(super) earlier: Vec<Parsed>,
    /// The JSON text known so far.
    pub(super) json: String,
    /// How much of the block went into `json`.
    pos: usize,
    quote: char,
    /// A quote was met.
    over: bool,
}

impl Live {
    /// Looks for such a call in the block so far.
    pub(super) fn find(text: &str, tools: &[Tool]) -> Option<Self> {
        let (mut earlier, mut pos) = (Vec::new(), 0);
        loop {
            pos += block::between(&text[pos..]);
            let rest = &text[pos..];
            if let Some((name, json, from, quote)) = open_string(rest) {
                let mut live = Self {
                    at: pos,
                    name,
                    earlier,
                    json,
                    pos: pos + from,
                    quote,
                    over: false,
                };
                live.advance(text);
                return (live.pos - pos - from >= LONG).then_some(live);
            }
            let mut reader = Reader::new(rest);
            let call = block::item(&mut reader, tools).ok()?;
            // What follows must have begun, or it may yet follow badly.
            let next = block::between(reader.rest());
            if !block::starts_item(&reader.rest()[next..]) {
                return None;
            }
            earlier.push(call);
            pos += reader.pos;
        }
    }

    /// Takes in what has become certain and returns it.
    pub(super) fn advance(&mut self, text: &str) -> String {
        let from = self.json.len();
        let mut reader = Reader::new(text);
        reader.pos = self.pos;
        while !self.over {
            let mut piece = String::new();
            match reader.bump() {
                None => break,
                Some(c) if c == self.quote => {
                    self.over = true;
                    break;
                }
                Some('\\') => {
                    let long = |c: char| matches!(c, 'u' | 'U' | 'x' | '0'..='7');
                    let need = if reader.peek().is_some_and(long) {
                        ESCAPE
                    } else {
                        1
                    };
                    if reader.rest().len() < need || reader.escape(&mut piece).is_err() {
                        break;
                    }
                }
                Some(c) => piece.push(c),
            }
            self.pos = reader.pos;
            python::escape_json(&piece, &mut self.json);
        }
        self.json[from..].to_owned()
    }

    /// What is still to be sent of the call as finally read; `None` if it is another call.
    pub(super) fn remainder(&self, call: &Parsed) -> Option<String> {
        let whole = python::dumps(&Value::Object(call.arguments.clone()), None);
        let rest = whole.strip_prefix(&self.json)?;
        (call.name == self.name).then(|| rest.to_owned())
    }
}

/// The first argument, of the call at the start of `text`, that is a plain string and either long
/// or not closed: the call's name, the JSON before the string's text, where that text begins, and
/// its quote. Everything before it must be certain.
fn open_string(text: &str) -> Option<(String, String, usize, char)> {
    let mut reader = Reader::new(text);
    let name = block::call_head(&mut reader)?;
    let mut arguments = Map::new();
    loop {
        reader.space();
        let key = block::keyword(&mut reader)?;
        reader.space();
        if let Some(quote @ ('\'' | '"')) = reader.peek() {
            let body = &reader.rest()[1..];
            let mut escaped = false;
            let end = body.find(|c: char| {
                let ends = c == quote && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            if end.is_none_or(|end| end >= LONG) {
                let mut json = python::dumps(&Value::Object(arguments.clone()), None);
                json.pop();
                json.push_str(if arguments.is_empty() { "" } else { ", " });
                if arguments.contains_key(&key) {
                    return None;
                }
                python::quote_json(&key, &mut json);
                json.push_str(": \"");
                return Some((name, json, reader.pos + 1, quote));
            }
        }
        let value = reader.value().ok()?;
        if arguments.insert(key, value).is_some() || !reader.eat(",") {
            return None;
        }
    }
}
