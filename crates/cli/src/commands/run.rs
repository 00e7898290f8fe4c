//! `molten run`: raw completion.

use std::io::{Read as _, Write as _};

use engine::{Backend as _, Finish, Request, Session, StopResult, TextStream};
use lfm2::tokenizer::Specials;

use crate::args::Run;
use crate::loaded::Loaded;
use crate::settings::Settings;
use crate::terminal::{Progress, note};
use crate::{Failure, Outcome, interrupt};

pub(crate) fn run(args: Run) -> Outcome {
    let settings = Settings::new(&args.model)?;
    let text = match args.prompt {
        Some(t) => t,
        None => read_stdin()?,
    };
    let mut m = Loaded::new(&settings)?;
    let sampling = m.sampling(&args.sampling)?;
    let specials = if args.special {
        Specials::Allow
    } else {
        Specials::Forbid
    };
    let mut prompt = m.tokenizer.encode(&text, specials)?;
    if !args.no_bos
        && let Some(bos) = m.tokenizer.bos()
        && prompt.first() != Some(&bos)
    {
        prompt.insert(0, bos);
    }
    if prompt.is_empty() {
        return Err(Failure::Usage(
            "the prompt is empty: give -p TEXT or standard input".to_owned(),
        ));
    }
    let mut session = Session::new(&mut m.backend)?;
    let mut out = std::io::stdout().lock();
    let mut stream = TextStream::new(&m.tokenizer, args.sampling.stop.clone(), args.special);
    let mut write_error = None;
    let mut stopped = false;
    let mut bar = Progress::new("reading the prompt");
    let mut progress = |done: usize, total: usize| bar.update(done as u64, total as u64);
    let ends = m.tokenizer.ends().to_vec();
    let mut request = Request {
        max_tokens: args.sampling.max_tokens,
        cancel: interrupt::stops_work(),
        progress: Some(&mut progress),
        ..Request::new(sampling, &ends)
    };
    let result = session.generate(&mut m.backend, &prompt, &mut request, &mut |t| {
        let text = match stream.push(t.id) {
            StopResult::Text(t) => t,
            StopResult::Stopped(t) => {
                stopped = true;
                t
            }
        };
        if let Err(e) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            write_error = Some(e);
        }
        write_error.is_none() && !stopped
    })?;
    if let Some(e) = write_error {
        return Err(e.into());
    }
    if !stopped {
        let (StopResult::Text(rest) | StopResult::Stopped(rest)) = stream.finish();
        out.write_all(rest.as_bytes())?;
    }
    out.write_all(b"\n")?;
    if !args.quiet {
        let why = match result.finish {
            Finish::Stop(_) => "end of text",
            Finish::Budget if m.backend.context() <= session.tokens().len() => "context full",
            Finish::Budget => "token limit",
            Finish::Sink => "stop text",
            Finish::Cancelled => "cancelled",
        };
        note(&format!(
            "[{}; {why}]",
            super::chat::describe(&result.stats)
        ));
    }
    Ok(())
}

/// All of standard input, as text.
pub(crate) fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::Work(format!("standard input: cannot read: {e}").into()))?;
    String::from_utf8(bytes).map_err(|e| {
        Failure::Usage(format!(
            "standard input is not UTF-8 (at byte {})",
            e.utf8_error().valid_up_to()
        ))
    })
}
