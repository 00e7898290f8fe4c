//! A conversation with a loaded model.

use std::path::Path;

use engine::{Cancel, Finish, ReplyStream, Request, Sampling, Session, Stats};
use lfm2::chat::{Message, RenderOptions, Role};
use lfm2::tool_calls::{Event, Options as ParserOptions, Reasoning, Tool};
use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::loaded::Loaded;

/// How to talk.
pub(crate) struct Options {
    pub(crate) system: Option<String>,
    pub(crate) tools: Vec<serde_json::Value>,
    pub(crate) sampling: Sampling,
    pub(crate) max_tokens: Option<usize>,
    pub(crate) stop: Vec<String>,
    pub(crate) cancel: Cancel,
}

/// Messages and the device's state of them.
pub(crate) struct Conversation<'m> {
    pub(crate) model: &'m mut Loaded,
    pub(crate) options: Options,
    pub(crate) messages: Vec<Message>,
    session: Session<cpu::Cpu>,
    last_finish: Option<Finish>,
}

/// The readable half of a saved conversation; the other half is the session's state beside it.
#[derive(Serialize, Deserialize)]
struct Saved {
    model: String,
    system: Option<String>,
    messages: Vec<SavedMessage>,
}

#[derive(Serialize, Deserialize)]
struct SavedMessage {
    #[serde(flatten)]
    message: Message,
    /// The model's own text of the turn, markers included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw_text: Option<String>,
}

impl<'m> Conversation<'m> {
    pub(crate) fn new(model: &'m mut Loaded, options: Options) -> Result<Self, Failure> {
        let session = Session::new(&mut model.backend)?;
        Ok(Self {
            model,
            options,
            messages: Vec::new(),
            session,
            last_finish: None,
        })
    }

    /// Forgets everything said; the system prompt stays.
    pub(crate) fn reset(&mut self) -> Result<(), Failure> {
        self.messages.clear();
        self.session = Session::new(&mut self.model.backend)?;
        Ok(())
    }

    /// Why the last answer ended.
    pub(crate) fn last_finish(&self) -> Option<Finish> {
        self.last_finish
    }

    /// Says `text` and passes the answer on as it comes. An interrupted answer stays in the conversation
    /// as far as it came.
    pub(crate) fn say(
        &mut self,
        text: &str,
        on: &mut dyn FnMut(Event) -> std::io::Result<()>,
    ) -> Result<Stats, Failure> {
        self.messages.push(Message::text(Role::User, text));
        let result = self.answer(on);
        if result.is_err() {
            // What failed was never answered: it may be said again.
            self.messages.pop();
        }
        result
    }

    fn answer(
        &mut self,
        on: &mut dyn FnMut(Event) -> std::io::Result<()>,
    ) -> Result<Stats, Failure> {
        let mut all = Vec::new();
        if let Some(s) = &self.options.system {
            all.push(Message::text(Role::System, s.clone()));
        }
        all.extend(self.messages.iter().cloned());
        let render = RenderOptions {
            tools: &self.options.tools,
            add_generation_prompt: true,
            ..RenderOptions::default()
        };
        let m = &mut *self.model;
        let prompt = m.template.render(&all, &render)?;
        let prompt = m.tokenizer.encode_prompt(&prompt)?;
        let parser = ParserOptions {
            tools: self
                .options
                .tools
                .iter()
                .filter_map(Tool::from_json)
                .collect(),
            reasoning: if m.template.opens_thinking() {
                Reasoning::Open
            } else {
                Reasoning::Auto
            },
            ..ParserOptions::default()
        };
        let mut reply = ReplyStream::new(&m.tokenizer, self.options.stop.clone(), parser);
        let mut content = String::new();
        let mut thought = String::new();
        let mut failed = None;
        let mut pass = |events: Vec<Event>, failed: &mut Option<std::io::Error>| {
            for e in events {
                match &e {
                    Event::Content(t) | Event::Unparsed(t) => content.push_str(t),
                    Event::Reasoning(t) => thought.push_str(t),
                    _ => {}
                }
                if failed.is_none()
                    && let Err(e) = on(e)
                {
                    *failed = Some(e);
                }
            }
        };
        let ends = m.tokenizer.ends().to_vec();
        self.options.cancel.reset();
        let mut request = Request {
            max_tokens: self.options.max_tokens,
            cancel: self.options.cancel.clone(),
            ..Request::new(self.options.sampling.clone(), &ends)
        };
        let result = self
            .session
            .generate(&mut m.backend, &prompt, &mut request, &mut |t| {
                pass(reply.push(t.id), &mut failed);
                failed.is_none() && !reply.is_stopped()
            })?;
        let complete = matches!(result.finish, Finish::Stop(_)) || reply.is_stopped();
        pass(reply.finish(complete), &mut failed);
        if let Some(e) = failed {
            return Err(e.into());
        }
        self.last_finish = Some(result.finish);
        let mut message = Message::text(Role::Assistant, content);
        if !thought.is_empty() {
            message.reasoning_content = Some(thought);
        }
        message.raw_text = Some(reply.parser().raw_text().to_owned());
        self.messages.push(message);
        Ok(result.stats)
    }

    /// Writes messages to `path` and the device's state beside it.
    pub(crate) fn save(&mut self, path: &Path) -> Result<(), Failure> {
        let saved = Saved {
            model: self.model.fingerprint.clone(),
            system: self.options.system.clone(),
            messages: self
                .messages
                .iter()
                .map(|m| SavedMessage {
                    message: m.clone(),
                    raw_text: m.raw_text.clone(),
                })
                .collect(),
        };
        let json = serde_json::to_string_pretty(&saved)?;
        let temporary = path.with_extension(format!("tmp{}", std::process::id()));
        let named = |e: std::io::Error| {
            Failure::Work(format!("{}: cannot save: {e}", path.display()).into())
        };
        std::fs::write(&temporary, json + "\n")
            .and_then(|()| std::fs::rename(&temporary, path))
            .map_err(|e| {
                let _ = std::fs::remove_file(&temporary);
                named(e)
            })?;
        self.session.save(
            &mut self.model.backend,
            &self.model.fingerprint,
            &state_path(path),
        )?;
        Ok(())
    }

    /// Reads what [`Self::save`] wrote. State of another model is left aside: the messages are read again.
    pub(crate) fn load(&mut self, path: &Path) -> Result<usize, Failure> {
        let named = |what: String| Failure::Work(format!("{}: {what}", path.display()).into());
        let bytes = std::fs::read(path).map_err(|e| named(format!("cannot read: {e}")))?;
        let saved: Saved = serde_json::from_slice(&bytes)
            .map_err(|e| named(format!("is no saved conversation: {e}")))?;
        self.options.system = saved.system;
        self.messages = saved
            .messages
            .into_iter()
            .map(|m| Message {
                raw_text: m.raw_text,
                ..m.message
            })
            .collect();
        self.session = Session::new(&mut self.model.backend)?;
        if let Ok((session, _)) = Session::load(
            &mut self.model.backend,
            &self.model.fingerprint,
            &state_path(path),
        ) {
            self.session = session;
        }
        Ok(self.messages.len())
    }
}

fn state_path(path: &Path) -> std::path::PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".state");
    path.with_file_name(name)
}
