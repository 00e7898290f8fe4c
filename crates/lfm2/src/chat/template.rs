//! A compiled chat template.

use minijinja::{Environment, value::Serde};
use serde_json::{Map, Value};

use super::message::{Message, Role};
use super::{clock, engine, prepare};
use crate::error::{Error, Result};
use crate::tokenizer::{Guard, Prompt, Tokenizer};

/// A generation of the family's chat format, each with a template of ours for files without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// LFM2 350M to 8B-A1B: tool lists and results wrapped in markers, calls not rendered.
    V1,
    /// LFM2.5-1.2B and LFM2-24B-A2B: nothing wrapped, calls not rendered.
    V2,
    /// LFM2.5-8B-A1B: thoughts and calls rendered, the date in the system turn.
    V3,
    /// LFM2.5-2.6B: as V3 with escaped strings, no date, and replies that begin in a thought.
    V4,
}

impl Generation {
    /// The built-in template.
    pub fn source(self) -> &'static str {
        match self {
            Self::V1 => include_str!("builtin/v1.jinja"),
            Self::V2 => include_str!("builtin/v2.jinja"),
            Self::V3 => include_str!("builtin/v3.jinja"),
            Self::V4 => include_str!("builtin/v4.jinja"),
        }
    }

    /// The likeliest generation for a vocabulary: the newest that fits. A vocabulary with `<think>`
    /// as a token belongs to V3 and V4, one without to V1 and V2.
    pub fn guess(tokenizer: &Tokenizer) -> Self {
        match tokenizer.special_ids().think_end {
            Some(_) => Self::V4,
            None => Self::V2,
        }
    }
}

/// How a conversation is rendered.
#[derive(Debug, Clone, Default)]
pub struct RenderOptions<'a> {
    /// The tools, as the client sent them: keys keep their order.
    pub tools: &'a [Value],
    /// Whether to open the assistant's turn at the end.
    pub add_generation_prompt: bool,
    /// Keep the thoughts of all earlier turns (the templates drop them by default).
    pub keep_thinking: bool,
    /// Let `<|tool_call_start|>` and `<|tool_call_end|>` in the *content* of assistant messages
    /// stand for the tokens. For histories that the caller wrote itself.
    pub trust_call_markers: bool,
    /// The time for templates that print the date: seconds since 1970 in the user's time zone.
    /// `None` is now, in UTC.
    pub now: Option<i64>,
    /// Further variables for the template (`chat_template_kwargs`).
    pub extra: Map<String, Value>,
}

/// A chat template, compiled, with what it needs to know of the tokenizer.
#[derive(Debug)]
pub struct ChatTemplate {
    env: Environment<'static>,
    guard: Guard,
    bos: String,
    eos: String,
    renders_calls: bool,
    opens_thinking: bool,
}

const NAME: &str = "chat_template";

impl ChatTemplate {
    /// Compiles a template's source.
    pub fn new(source: &str, tokenizer: &Tokenizer) -> Result<Self> {
        let mut env = engine::environment();
        env.add_template_owned(NAME, engine::without_generation_blocks(source))
            .map_err(|e| failure(&e))?;
        let spelled = |id: Option<u32>| {
            let bytes = id.map_or(&[][..], |id| tokenizer.token_bytes(id));
            String::from_utf8_lossy(bytes).into_owned()
        };
        let mut this = Self {
            env,
            guard: tokenizer.guard(),
            bos: spelled(tokenizer.bos()),
            eos: spelled(tokenizer.eos()),
            renders_calls: source.contains("tool_calls"),
            opens_thinking: false,
        };
        let options = RenderOptions {
            add_generation_prompt: true,
            now: Some(0),
            ..RenderOptions::default()
        };
        // A template that refuses this shortest of conversations may still take others.
        if let Ok(prompt) = this.render(&[Message::text(Role::User, "x")], &options) {
            this.opens_thinking = prompt.text().trim_end().ends_with("<think>");
        }
        Ok(this)
    }

    /// The built-in template of a generation.
    pub fn builtin(generation: Generation, tokenizer: &Tokenizer) -> Result<Self> {
        Self::new(generation.source(), tokenizer)
    }

    /// Whether the generation prompt ends inside an open thought, so that the model's output
    /// begins with reasoning and no opening tag.
    pub fn opens_thinking(&self) -> bool {
        self.opens_thinking
    }

    /// Whether the template writes an assistant's calls itself. Where it does not, they are put
    /// into the content as the model would have written them.
    pub fn renders_calls(&self) -> bool {
        self.renders_calls
    }

    /// Renders a conversation.
    pub fn render(&self, messages: &[Message], options: &RenderOptions<'_>) -> Result<Prompt> {
        let ready = prepare::prepare(messages, options, &self.guard, self.renders_calls)?;
        let mut context = ready.extra;
        let mut set = |name: &str, value: Value| context.insert(name.to_owned(), value);
        set("messages", ready.messages.into());
        if !ready.tools.is_empty() {
            set("tools", ready.tools.into());
        }
        set(
            "add_generation_prompt",
            options.add_generation_prompt.into(),
        );
        set("bos_token", self.bos.as_str().into());
        set("eos_token", self.eos.as_str().into());
        if options.keep_thinking {
            set("keep_past_thinking", true.into());
            set("preserve_thinking", true.into());
        }
        let mut env = self.env.clone();
        engine::set_clock(&mut env, options.now.unwrap_or_else(clock::now));
        let template = env.get_template(NAME).map_err(|e| failure(&e))?;
        let text = template.render(Serde(&context)).map_err(|e| failure(&e))?;
        Ok(Prompt::from_marked(&text, ready.mark))
    }
}

fn failure(error: &minijinja::Error) -> Error {
    let detail = error.detail().unwrap_or("no detail");
    let what = match error.line() {
        Some(line) => format!("line {line}: {}: {detail}", error.kind()),
        None => format!("{}: {detail}", error.kind()),
    };
    Error::Template { what }
}
