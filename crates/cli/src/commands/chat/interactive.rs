//! The interactive chat.

use std::path::{Path, PathBuf};

use engine::{Finish, Stats};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Editor, Helper};

use super::conversation::Conversation;
use super::{Printer, describe};
use crate::settings::data_dir;
use crate::terminal::{error, note};
use crate::{Failure, Outcome};

const HELP: &str = "\
/help            this text
/reset           forget the conversation
/system TEXT     set the system prompt and start anew (without TEXT: show it)
/save FILE       save the conversation
/load FILE       go on with a saved one
/stats           tokens and speed of the last answer
/quit            leave (also Ctrl-D)
A line that ends in \\ goes on in the next; a block between ``` lines is one
message.
Ctrl-C stops an answer; a second one leaves.";

/// Takes a line for unfinished while it ends in a backslash or a ``` block is open.
struct MultiLine;

impl Helper for MultiLine {}
impl Highlighter for MultiLine {}
impl Hinter for MultiLine {
    type Hint = String;
}
impl Completer for MultiLine {
    type Candidate = String;
}

impl Validator for MultiLine {
    fn validate(&self, c: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = c.input();
        let fences = text
            .lines()
            .filter(|l| l.trim_start().starts_with("```"))
            .count();
        Ok(if text.ends_with('\\') || fences % 2 == 1 {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

pub(super) fn run(
    chat: &mut Conversation<'_>,
    printer: &mut Printer,
    always_stats: bool,
) -> Outcome {
    let config = Config::builder().auto_add_history(true).build();
    let mut editor: Editor<MultiLine, FileHistory> =
        Editor::with_config(config).map_err(readline)?;
    editor.set_helper(Some(MultiLine));
    let history = history_path();
    if let Some(p) = &history {
        // A missing history is an empty one.
        let _ = editor.load_history(p);
    }
    note(&format!(
        "{} is ready. /help lists commands.",
        chat.model.name
    ));
    let mut last: Option<Stats> = None;
    let mut interrupted = false;
    loop {
        let line = match editor.readline("> ") {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) if !interrupted => {
                interrupted = true;
                note("Ctrl-C again to leave.");
                continue;
            }
            Err(ReadlineError::Interrupted | ReadlineError::Eof) => break,
            Err(e) => return Err(readline(e)),
        };
        interrupted = false;
        let text = line.replace("\\\n", "\n");
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        if let Some(command) = text.strip_prefix('/') {
            match command_line(chat, command, last.as_ref()) {
                Ok(true) => {}
                Ok(false) => break,
                Err(Failure::Work(e)) => error(&e.to_string()),
                Err(Failure::Usage(e)) => error(&e),
                Err(Failure::Closed) => return Err(Failure::Closed),
            }
            continue;
        }
        match chat.say(text, &mut |e| printer.event(e)) {
            Ok(stats) => {
                printer.end()?;
                match chat.last_finish() {
                    Some(Finish::Cancelled) => note("[stopped]"),
                    Some(Finish::Budget) => {
                        note("[cut off: the token limit or the end of the context was reached]");
                    }
                    _ => {}
                }
                if always_stats {
                    note(&format!("[{}]", describe(&stats)));
                }
                last = Some(stats);
            }
            Err(Failure::Work(e)) => {
                printer.end()?;
                error(&e.to_string());
            }
            Err(other) => return Err(other),
        }
        if let Some(p) = &history {
            let _ = editor.save_history(p);
        }
    }
    if let Some(p) = &history {
        let _ = editor.save_history(p);
    }
    Ok(())
}

/// Runs a /command; `false` ends the chat.
fn command_line(
    chat: &mut Conversation<'_>,
    command: &str,
    last: Option<&Stats>,
) -> Result<bool, Failure> {
    let (name, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let rest = rest.trim();
    let file = |what: &str| -> Result<PathBuf, Failure> {
        if rest.is_empty() {
            return Err(Failure::Usage(format!("/{what} needs a file name")));
        }
        Ok(PathBuf::from(rest))
    };
    match name {
        "help" | "?" => note(HELP),
        "quit" | "exit" | "q" => return Ok(false),
        "reset" => {
            chat.reset()?;
            note("The conversation starts anew.");
        }
        "system" if rest.is_empty() => {
            note(
                chat.options
                    .system
                    .as_deref()
                    .unwrap_or("There is no system prompt."),
            );
        }
        "system" => {
            chat.options.system = Some(rest.to_owned());
            chat.reset()?;
            note("The system prompt is set; the conversation starts anew.");
        }
        "stats" => match last {
            Some(s) => note(&describe(s)),
            None => note("Nothing was said yet."),
        },
        "save" => {
            let path = file("save")?;
            chat.save(&path)?;
            note(&format!("Saved to {}.", path.display()));
        }
        "load" => {
            let n = chat.load(Path::new(&file("load")?))?;
            note(&format!("{n} messages are back."));
        }
        other => {
            return Err(Failure::Usage(format!(
                "/{other} is unknown; /help lists commands"
            )));
        }
    }
    Ok(true)
}

fn history_path() -> Option<PathBuf> {
    let dir = data_dir();
    std::fs::create_dir_all(&dir).ok()?;
    Some(dir.join("chat_history"))
}

fn readline(e: ReadlineError) -> Failure {
    Failure::Work(Box::new(e))
}
