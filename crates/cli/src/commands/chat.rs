//! `molten chat`: one answer, or a conversation.

mod conversation;
mod interactive;

use std::io::{IsTerminal, Write};

use engine::Stats;
use lfm2::tool_calls::Event;

use crate::args::Chat;
use crate::loaded::Loaded;
use crate::settings::Settings;
use crate::terminal::note;
use crate::{Failure, Outcome, interrupt};
use conversation::Conversation;

pub(crate) fn run(args: Chat) -> Outcome {
    let settings = Settings::new(&args.model)?;
    let tools = match &args.tools {
        None => Vec::new(),
        Some(path) => read_tools(path)?,
    };
    let piped = !std::io::stdin().is_terminal();
    // Input is read before the model is loaded: an error in it should not cost a minute.
    let prompt = match (args.prompt, piped) {
        (Some(p), _) => Some(p),
        (None, true) => Some(super::run::read_stdin()?.trim_end_matches('\n').to_owned()),
        (None, false) => None,
    };
    if prompt.as_deref().is_some_and(|p| p.trim().is_empty()) {
        return Err(Failure::Usage("the prompt is empty".to_owned()));
    }
    let mut model = Loaded::new(&settings)?;
    let sampling = model.sampling(&args.sampling)?;
    let options = conversation::Options {
        system: args.system,
        tools,
        sampling,
        max_tokens: args.sampling.max_tokens,
        stop: args.sampling.stop,
        cancel: interrupt::stops_work(),
    };
    let mut chat = Conversation::new(&mut model, options)?;
    let mut printer = Printer::new(!args.hide_thinking);
    match prompt {
        Some(p) => {
            let stats = chat.say(&p, &mut |e| printer.event(e))?;
            printer.end()?;
            if args.stats {
                note(&format!("[{}]", describe(&stats)));
            }
            Ok(())
        }
        None => interactive::run(&mut chat, &mut printer, args.stats),
    }
}

fn read_tools(path: &std::path::Path) -> Result<Vec<serde_json::Value>, Failure> {
    let wrong = |what: String| Failure::Usage(format!("{}: {what}", path.display()));
    let bytes = std::fs::read(path).map_err(|e| wrong(format!("cannot read: {e}")))?;
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|e| wrong(format!("is not JSON: {e}")))?;
    let list = match value {
        serde_json::Value::Array(list) => list,
        one @ serde_json::Value::Object(_) => vec![one],
        _ => return Err(wrong("expected a list of tools".to_owned())),
    };
    for (i, tool) in list.iter().enumerate() {
        if lfm2::tool_calls::Tool::from_json(tool).is_none() {
            return Err(wrong(format!("tool {i} has no name")));
        }
    }
    Ok(list)
}

/// One line of statistics.
pub(crate) fn describe(s: &Stats) -> String {
    let mut parts = vec![format!("prompt {}", s.prompt_tokens)];
    if s.cached_tokens > 0 {
        parts.push(format!("{} of them cached", s.cached_tokens));
    }
    if let Some(r) = s.prefill_rate() {
        parts.push(format!("read at {r:.0} tok/s"));
    }
    parts.push(format!("answer {}", s.generated_tokens));
    if let Some(r) = s.decode_rate() {
        parts.push(format!("at {r:.1} tok/s"));
    }
    if let Some(t) = s.first_token {
        parts.push(format!("first after {:.0} ms", t.as_secs_f64() * 1e3));
    }
    parts.join(", ")
}

/// Writes a reply as it comes: the answer and calls to standard output, thoughts dimmed to standard error.
pub(crate) struct Printer {
    thinking: bool,
    thought_open: bool,
    last: Option<char>,
    call: String,
}

impl Printer {
    fn new(thinking: bool) -> Self {
        Self {
            thinking,
            thought_open: false,
            last: None,
            call: String::new(),
        }
    }

    fn event(&mut self, event: Event) -> std::io::Result<()> {
        match event {
            Event::Reasoning(t) => self.thought(&t),
            Event::Content(t) | Event::Unparsed(t) => self.write(&t),
            Event::ToolCallStart { name, .. } => {
                self.call = format!("→ {name} ");
                Ok(())
            }
            Event::ToolCallArgs { delta, .. } => {
                self.call.push_str(&delta);
                Ok(())
            }
            Event::ToolCallEnd { .. } | Event::ToolCallBroken { .. } => {
                let broken = matches!(event, Event::ToolCallBroken { .. });
                let end = if broken { " [cut off]\n" } else { "\n" };
                let line = std::mem::take(&mut self.call) + end;
                if self.last.is_some_and(|c| c != '\n') {
                    self.write("\n")?;
                }
                self.write(&line)
            }
        }
    }

    fn thought(&mut self, t: &str) -> std::io::Result<()> {
        if !self.thinking {
            return Ok(());
        }
        let mut err = std::io::stderr();
        if err.is_terminal() && !self.thought_open {
            write!(err, "\x1b[2m")?;
        }
        self.thought_open = true;
        write!(err, "{t}")?;
        err.flush()
    }

    fn close_thought(&mut self) -> std::io::Result<()> {
        if std::mem::take(&mut self.thought_open) {
            let mut err = std::io::stderr();
            let end = if err.is_terminal() { "\x1b[0m\n" } else { "\n" };
            write!(err, "{end}")?;
        }
        Ok(())
    }

    fn write(&mut self, t: &str) -> std::io::Result<()> {
        self.close_thought()?;
        let mut out = std::io::stdout();
        out.write_all(t.as_bytes())?;
        out.flush()?;
        self.last = t.chars().last().or(self.last);
        Ok(())
    }

    /// Ends the reply on a line of its own.
    fn end(&mut self) -> std::io::Result<()> {
        self.close_thought()?;
        if self.last.take() != Some('\n') {
            self.write("\n")?;
            self.last = None;
        }
        Ok(())
    }
}
