//! The streaming parser: raw output in, thoughts, text and calls out.
//!
//! Text goes out as it comes, except what may still turn out to be something else: the beginning
//! of a marker, white space at the edge of a block, a line that begins like a call. A call goes out
//! whole when its block is complete, since only then is its reading certain; [`super::live`] has
//! the exception. Every decision depends
//! on the text alone, so the events are the same however the stream is cut (text deltas apart).

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use super::Tool;
use super::bare::{Candidate, Verdict};
use super::block::{self, Effort, Item, Parsed};
use super::event::{Event, Options, Reasoning};
use super::live::Live;
use super::markers::{Lexer, Marker, Piece};
use crate::python;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Thought,
    Content,
    Block,
}

/// Reads one reply.
#[derive(Debug)]
pub struct Parser {
    tools: Vec<Tool>,
    reasoning: Reasoning,
    lexer: Lexer,
    state: State,
    events: Vec<Event>,

    /// Something of the thought went out.
    thought_begun: bool,
    /// White space that goes out only if more follows.
    gap: String,
    /// Whether white space is held in `gap`: at the start of the reply and behind blocks.
    in_gap: bool,
    /// The gap follows a thought and is dropped.
    strip_gap: bool,
    /// No text and no call so far, apart from thoughts.
    fresh: bool,
    /// Only white space since the last line break.
    line_start: bool,
    candidate: Option<Candidate>,
    /// The inside of the current block.
    block: String,
    /// Its call that is being passed on early, and the length from which to look for one again.
    live: Option<Live>,
    look_at: usize,
    /// The inside of the last block, which the model may repeat, and how much of it it has.
    echo: Option<(String, String)>,

    calls: usize,
    id_state: u64,
    raw_thought: String,
    raw_text: String,
}

impl Parser {
    /// A parser for one reply.
    pub fn new(options: Options) -> Self {
        let seed = options
            .id_seed
            .unwrap_or_else(|| RandomState::new().build_hasher().finish());
        Self {
            tools: options.tools,
            reasoning: options.reasoning,
            lexer: Lexer::new(options.markers_in_text),
            state: match options.reasoning {
                Reasoning::Open => State::Thought,
                Reasoning::Off | Reasoning::Auto => State::Content,
            },
            events: Vec::new(),
            thought_begun: false,
            gap: String::new(),
            in_gap: true,
            strip_gap: false,
            fresh: true,
            line_start: true,
            candidate: None,
            block: String::new(),
            live: None,
            look_at: 0,
            echo: None,
            calls: 0,
            id_state: seed,
            raw_thought: String::new(),
            raw_text: String::new(),
        }
    }

    /// Takes text and returns what it makes certain.
    pub fn push(&mut self, text: &str) -> Vec<Event> {
        for piece in self.lexer.push(text) {
            self.piece(piece);
        }
        std::mem::take(&mut self.events)
    }

    /// Takes a marker that came as a token of its own.
    pub fn push_marker(&mut self, marker: Marker) -> Vec<Event> {
        let held = self.lexer.flush();
        for piece in held.into_iter().chain([Piece::Marker(marker)]) {
            self.piece(piece);
        }
        std::mem::take(&mut self.events)
    }

    /// Ends the reply. `complete`: the model ended its turn, as opposed to being cut off; a call
    /// that was cut off is not guessed at.
    pub fn finish(&mut self, complete: bool) -> Vec<Event> {
        if let Some(piece) = self.lexer.flush() {
            self.piece(piece);
        }
        match self.state {
            State::Thought => self.gap.clear(),
            State::Content => self.end_of_content(complete),
            State::Block => self.end_of_block(if complete {
                Effort::Repair
            } else {
                Effort::Strict
            }),
        }
        self.gap.clear();
        std::mem::take(&mut self.events)
    }

    /// Calls so far.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Whether the reply is still inside a thought.
    pub fn in_thought(&self) -> bool {
        self.state == State::Thought
    }

    /// Whether the reply is inside a marked block of calls.
    pub fn in_block(&self) -> bool {
        self.state == State::Block
    }

    /// The thought so far, byte for byte, without its tags: for replay.
    pub fn raw_thought(&self) -> &str {
        &self.raw_thought
    }

    /// Everything behind the thought so far, byte for byte, markers included: for replay.
    pub fn raw_text(&self) -> &str {
        &self.raw_text
    }

    fn piece(&mut self, piece: Piece) {
        match (self.state, piece) {
            (State::Thought, Piece::Text(text)) => self.thought(&text),
            (State::Thought, Piece::Marker(Marker::ThinkEnd)) => {
                self.gap.clear();
                self.state = State::Content;
                (self.in_gap, self.strip_gap) = (true, true);
                (self.fresh, self.line_start) = (true, true);
            }
            // The model repeats the tag that the prompt has written.
            (State::Thought, Piece::Marker(Marker::ThinkStart)) if !self.thought_begun => {}
            (State::Thought | State::Block, Piece::Marker(Marker::TurnEnd)) => {}
            (State::Thought, Piece::Marker(marker)) => self.thought(marker.spelling()),
            (State::Content, Piece::Text(text)) => {
                self.raw_text.push_str(&text);
                text.chars().for_each(|c| self.content(c));
            }
            (State::Content, Piece::Marker(marker)) => self.marker(marker),
            (State::Block, Piece::Marker(Marker::CallEnd)) => {
                self.raw_text.push_str(Marker::CallEnd.spelling());
                self.end_of_block(Effort::Repair);
            }
            // A block begins inside another: the first was not closed.
            (State::Block, Piece::Marker(Marker::CallStart)) if self.is_whole() => {
                self.raw_text.push_str(Marker::CallStart.spelling());
                self.end_of_block(Effort::Repair);
                self.start_of_block();
            }
            (State::Block, Piece::Text(text)) => self.inside(&text),
            (State::Block, Piece::Marker(marker)) => self.inside(marker.spelling()),
        }
    }

    fn thought(&mut self, text: &str) {
        self.raw_thought.push_str(text);
        let body = if self.thought_begun {
            text
        } else {
            text.trim_start()
        };
        if body.is_empty() {
            return;
        }
        self.thought_begun = true;
        let end = body.trim_end().len();
        if end > 0 {
            let mut delta = std::mem::take(&mut self.gap);
            delta.push_str(&body[..end]);
            match self.events.last_mut() {
                Some(Event::Reasoning(last)) => last.push_str(&delta),
                _ => self.events.push(Event::Reasoning(delta)),
            }
        }
        self.gap.push_str(&body[end..]);
    }

    fn marker(&mut self, marker: Marker) {
        let is_text = match marker {
            Marker::ThinkStart => self.reasoning == Reasoning::Off || !self.fresh || self.held(),
            Marker::ThinkEnd => self.reasoning == Reasoning::Off,
            _ => false,
        };
        if is_text {
            self.raw_text.push_str(marker.spelling());
            marker.spelling().chars().for_each(|c| self.content(c));
            return;
        }
        match marker {
            Marker::ThinkStart => {
                self.gap.clear();
                self.raw_text.clear();
                self.state = State::Thought;
            }
            Marker::ThinkEnd | Marker::TurnEnd => {}
            Marker::CallStart => {
                self.raw_text.push_str(marker.spelling());
                self.settle(Effort::Strict, true);
                self.start_of_block();
            }
            Marker::CallEnd => {
                self.raw_text.push_str(marker.spelling());
                // What stands before a lone end marker was meant as a call, or repeats one.
                self.settle(Effort::Repair, false);
            }
        }
    }

    /// Whether text is held back that may be more than text.
    fn held(&self) -> bool {
        let echoed = self.echo.as_ref().is_some_and(|(_, seen)| !seen.is_empty());
        self.candidate.is_some() || echoed
    }

    fn start_of_block(&mut self) {
        self.gap.clear();
        self.state = State::Block;
        self.block.clear();
        (self.live, self.look_at) = (None, 0);
    }

    fn is_whole(&self) -> bool {
        let items = block::parse(&self.block, &self.tools, Effort::Strict);
        !items.is_empty() && items.iter().all(|item| matches!(item, Item::Call(_)))
    }

    fn inside(&mut self, text: &str) {
        self.raw_text.push_str(text);
        self.block.push_str(text);
        self.look_for_live(false);
    }

    /// Passes on what is certain of a long argument. Looking for one costs a reading of the block,
    /// so it is done each time the block has grown by a part of its length.
    fn look_for_live(&mut self, now: bool) {
        if let Some(live) = &mut self.live {
            let delta = live.advance(&self.block);
            self.arguments(delta);
            return;
        }
        if self.block.len() < self.look_at && !now {
            return;
        }
        self.look_at = self.block.len() + self.block.len() / 8 + 32;
        let Some(live) = Live::find(&self.block, &self.tools) else {
            return;
        };
        for call in &live.earlier {
            self.call(call);
        }
        self.begin_call(live.name.clone());
        self.arguments(live.json.clone());
        self.live = Some(live);
    }

    fn end_of_block(&mut self, effort: Effort) {
        // So that the result doesn't depend on when the text arrived.
        self.look_for_live(true);
        let body = std::mem::take(&mut self.block);
        let live = self.live.take();
        let fits = |at: usize, call: &Parsed| match &live {
            Some(live) if live.at == at => live.remainder(call).is_some(),
            _ => true,
        };
        let items = block::parse_pinned(&body, &self.tools, effort, &fits);
        let mut items = items.into_iter();
        if let Some(live) = &live {
            // The calls before it went out with it.
            match items.nth(live.earlier.len()) {
                Some(Item::Call(call)) => {
                    self.arguments(live.remainder(&call).unwrap_or_default());
                    self.end_call();
                }
                other => {
                    let index = self.calls - 1;
                    self.events.push(Event::ToolCallBroken { index });
                    // A call that was merely cut off has been passed on as far as it goes.
                    if let (Some(Item::Raw(text)), Effort::Repair) = (other, effort) {
                        self.events.push(Event::Unparsed(text));
                    }
                }
            }
        }
        for item in items {
            match item {
                Item::Call(call) => self.call(&call),
                Item::Raw(text) => self.events.push(Event::Unparsed(text)),
            }
        }
        let body = body.trim();
        self.echo = (!body.is_empty()).then(|| (body.to_owned(), String::new()));
        self.after_calls();
    }

    fn after_calls(&mut self) {
        self.state = State::Content;
        (self.in_gap, self.strip_gap) = (true, false);
        (self.fresh, self.line_start) = (false, true);
    }

    fn call(&mut self, call: &Parsed) {
        self.begin_call(call.name.clone());
        let arguments = serde_json::Value::Object(call.arguments.clone());
        self.arguments(python::dumps(&arguments, None));
        self.end_call();
    }

    fn begin_call(&mut self, name: String) {
        let (index, id) = (self.calls, self.next_id());
        self.calls += 1;
        self.events.push(Event::ToolCallStart { index, id, name });
    }

    fn arguments(&mut self, delta: String) {
        if delta.is_empty() {
            return;
        }
        let index = self.calls - 1;
        match self.events.last_mut() {
            Some(Event::ToolCallArgs { delta: last, .. }) => last.push_str(&delta),
            _ => self.events.push(Event::ToolCallArgs { index, delta }),
        }
    }

    fn end_call(&mut self) {
        let index = self.calls - 1;
        self.events.push(Event::ToolCallEnd { index });
    }

    /// Splitmix64: different for each call, and across replies as far as seeds are.
    fn next_id(&mut self) -> String {
        self.id_state = self.id_state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.id_state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        format!("call_{:016x}", z ^ (z >> 31))
    }

    /// A character of content: perhaps of a repeated block, perhaps of a call without markers.
    fn content(&mut self, c: char) {
        if let Some((body, seen)) = &mut self.echo {
            seen.push(c);
            // All characters before this one fitted.
            let so_far = seen.trim_start();
            let before = so_far.len().saturating_sub(c.len_utf8());
            let fits = match body.get(before..) {
                _ if so_far.is_empty() => true,
                Some("") | None => c.is_whitespace(),
                Some(rest) => rest.starts_with(c),
            };
            if fits {
                return;
            }
            let seen = std::mem::take(seen);
            self.echo = None;
            seen.chars().for_each(|c| self.line(c));
            return;
        }
        self.line(c);
    }

    fn line(&mut self, c: char) {
        if let Some(candidate) = &mut self.candidate {
            match candidate.push(c, &self.tools) {
                Verdict::Maybe => {}
                Verdict::Dead => self.drop_candidate(),
                Verdict::Done => {
                    self.settle_candidate(Effort::Strict, true);
                    self.plain(c);
                }
            }
            return;
        }
        if self.line_start && !c.is_whitespace() {
            self.candidate = Candidate::start(c, self.fresh, &self.tools);
            if self.candidate.is_some() {
                return;
            }
        }
        self.plain(c);
    }

    fn plain(&mut self, c: char) {
        self.line_start = c == '\n' || (self.line_start && c.is_whitespace());
        if self.in_gap {
            if c.is_whitespace() {
                self.gap.push(c);
                return;
            }
            self.in_gap = false;
            let gap = std::mem::take(&mut self.gap);
            if !self.strip_gap {
                self.emit(&gap);
            }
        }
        self.fresh = false;
        self.emit(c.encode_utf8(&mut [0; 4]));
    }

    fn emit(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.events.last_mut() {
            Some(Event::Content(last)) => last.push_str(text),
            _ => self.events.push(Event::Content(text.to_owned())),
        }
    }

    fn drop_candidate(&mut self) {
        if let Some(candidate) = self.candidate.take() {
            candidate.into_text().chars().for_each(|c| self.plain(c));
        }
    }

    /// Decides about a call without markers. `known`: all names must be those of tools.
    fn settle_candidate(&mut self, effort: Effort, known: bool) {
        let Some(candidate) = &self.candidate else {
            return;
        };
        if candidate.begun() {
            let items = block::parse(candidate.text(), &self.tools, effort);
            let good = |item: &Item| match item {
                Item::Call(call) => !known || self.tools.iter().any(|t| t.name == call.name),
                Item::Raw(_) => false,
            };
            if !items.is_empty() && items.iter().all(good) {
                let body = candidate.text().trim().to_owned();
                self.candidate = None;
                self.gap.clear();
                for item in items {
                    if let Item::Call(call) = item {
                        self.call(&call);
                    }
                }
                self.after_calls();
                self.echo = Some((body, String::new()));
                return;
            }
        }
        self.drop_candidate();
    }

    /// Decides about everything held back.
    fn settle(&mut self, effort: Effort, known: bool) {
        if let Some((body, seen)) = self.echo.take() {
            if seen.trim() == body {
                return;
            }
            seen.chars().for_each(|c| self.line(c));
        }
        self.settle_candidate(effort, known);
    }

    fn end_of_content(&mut self, complete: bool) {
        // Without a marker, only text that ends like a call is worth repairing.
        let ends = |c: &Candidate| c.text().trim_end().ends_with([')', ']', '}']);
        let effort = match &self.candidate {
            Some(candidate) if complete && ends(candidate) => Effort::Repair,
            _ => Effort::Strict,
        };
        self.settle(effort, true);
    }
}
