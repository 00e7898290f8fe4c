//! Text from tokens, in the order the engine guarantees: detokenizer, stop strings, then (for chat)
//! thoughts and tool calls.

use lfm2::Tokenizer;
use lfm2::tokenizer::Detokenizer;
use lfm2::tool_calls::{Event, Marker, Options, Parser};

use crate::stop::{StopResult, StopStrings};

/// Plain text from tokens, with stop strings.
#[derive(Debug)]
pub struct TextStream<'t> {
    tokenizer: &'t Tokenizer,
    detokenizer: Detokenizer,
    stops: StopStrings,
    specials: bool,
}

impl<'t> TextStream<'t> {
    /// `specials`: whether special tokens show as their spelling; otherwise they are left out.
    pub fn new(tokenizer: &'t Tokenizer, stops: Vec<String>, specials: bool) -> Self {
        Self {
            tokenizer,
            detokenizer: Detokenizer::new(),
            stops: StopStrings::new(stops),
            specials,
        }
    }

    /// The text this token completes.
    pub fn push(&mut self, id: u32) -> StopResult {
        if !self.specials && self.tokenizer.is_special(id) {
            return StopResult::Text(String::new());
        }
        let mut text = String::new();
        self.detokenizer
            .push(self.tokenizer.token_bytes(id), &mut text);
        self.stops.push(&text)
    }

    /// What is still held back when the stream ends.
    pub fn finish(&mut self) -> StopResult {
        let mut text = String::new();
        self.detokenizer.finish(&mut text);
        match self.stops.push(&text) {
            StopResult::Text(t) => StopResult::Text(t + &self.stops.finish()),
            stopped @ StopResult::Stopped(_) => stopped,
        }
    }
}

/// A chat reply: text, thoughts and tool calls from tokens.
#[derive(Debug)]
pub struct ReplyStream<'t> {
    text: TextStream<'t>,
    parser: Parser,
    stopped: bool,
}

impl<'t> ReplyStream<'t> {
    /// `options.markers_in_text` is switched off where the vocabulary has the call markers as tokens, so
    /// that text which merely spells one stays text.
    pub fn new(tokenizer: &'t Tokenizer, stops: Vec<String>, mut options: Options) -> Self {
        options.markers_in_text = tokenizer.special_ids().tool_call_start.is_none();
        Self {
            text: TextStream::new(tokenizer, stops, false),
            parser: Parser::new(options),
            stopped: false,
        }
    }

    /// What this token makes certain.
    pub fn push(&mut self, id: u32) -> Vec<Event> {
        if self.stopped {
            return Vec::new();
        }
        let bytes = self.text.tokenizer.token_bytes(id);
        let marker = std::str::from_utf8(bytes).ok().and_then(Marker::of);
        if let Some(marker) = marker {
            // Half a character cannot go on behind a marker.
            let mut events = self.take_rest();
            if !self.stopped {
                events.extend(self.parser.push_marker(marker));
            }
            events
        } else {
            let text = self.text.push(id);
            self.take(text)
        }
    }

    /// Ends the reply; `complete` unless it was cut off.
    pub fn finish(&mut self, complete: bool) -> Vec<Event> {
        let mut events = if self.stopped {
            Vec::new()
        } else {
            self.take_rest()
        };
        events.extend(self.parser.finish(complete));
        events
    }

    /// Whether a stop string came up.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The parser, for what it knows of the reply.
    pub fn parser(&self) -> &Parser {
        &self.parser
    }

    fn take_rest(&mut self) -> Vec<Event> {
        let rest = self.text.finish();
        self.take(rest)
    }

    fn take(&mut self, text: StopResult) -> Vec<Event> {
        match text {
            StopResult::Text(t) if t.is_empty() => Vec::new(),
            StopResult::Text(t) => self.parser.push(&t),
            StopResult::Stopped(t) => {
                self.stopped = true;
                self.parser.push(&t)
            }
        }
    }
}
