//! The `molten` binary: arguments, wiring, terminal output.
//!
//! Arguments pass two stages: [`args`] is what was typed, [`settings`] the validated plan. Nothing below
//! this crate sees a flag.

mod args;
mod commands;
mod instruments;
mod interrupt;
mod loaded;
mod model_path;
mod settings;
#[cfg(feature = "spark")]
mod spark;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The work failed: exit code 1.
    Work(Box<dyn std::error::Error>),
    /// The call was wrong: exit code 2.
    Usage(String),
    /// The reader of our output went away: not an error.
    Closed,
}

impl<E: std::error::Error + 'static> From<E> for Failure {
    fn from(e: E) -> Self {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&e);
        while let Some(c) = cause {
            if c.downcast_ref::<std::io::Error>()
                .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
            {
                return Self::Closed;
            }
            cause = c.source();
        }
        // Errors of files come with their names (`lfm2::Error`); a bare one is the output's.
        let e: Box<dyn std::error::Error> = Box::new(e);
        if e.is::<std::io::Error>() {
            return Self::Work(format!("cannot write the output: {e}").into());
        }
        Self::Work(e)
    }
}

/// The result of a command.
pub(crate) type Outcome = Result<(), Failure>;

fn main() -> ExitCode {
    let args = args::Args::parse();
    let verbose = args.verbose;
    interrupt::listen();
    match commands::run(args) {
        Ok(()) | Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(Failure::Usage(what)) => {
            terminal::error(&what);
            ExitCode::from(2)
        }
        Err(Failure::Work(e)) => {
            terminal::error(&e.to_string());
            if verbose {
                let mut cause = e.source();
                while let Some(c) = cause {
                    terminal::note(&format!("  caused by: {c}"));
                    cause = c.source();
                }
            }
            ExitCode::FAILURE
        }
    }
}
