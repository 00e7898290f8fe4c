//! The commands.

mod bench;
mod chat;
mod doctor;
mod inspect;
mod roofline;
mod run;
mod synth;
mod verify;

use clap::CommandFactory as _;

use crate::args::{Args, Command};
use crate::{Failure, Outcome};

pub(crate) use inspect::{Stored, types as stored_types};
pub(crate) use synth::{config as synth_config, target as synth_target};
pub(crate) use verify::compare::{self as agreement, Agreement};

/// Runs the command.
pub(crate) fn run(args: Args) -> Outcome {
    match args.command {
        Command::Chat(a) => chat::run(a),
        Command::Run(a) => run::run(a),
        Command::Inspect(a) => inspect::run(&a),
        Command::Synth(a) => synth::run(&a),
        Command::Doctor(a) => doctor::run(&a),
        Command::Verify(a) => verify::run(&a),
        Command::Bench(a) => bench::run(&a),
        Command::Roofline(a) => roofline::run(&a),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "molten", &mut script);
            use std::io::Write as _;
            std::io::stdout().write_all(&script)?;
            Ok(())
        }
        Command::Man { dir } => {
            std::fs::create_dir_all(&dir).map_err(|e| {
                Failure::Work(format!("{}: cannot create: {e}", dir.display()).into())
            })?;
            clap_mangen::generate_to(Args::command(), &dir)
                .map_err(|e| Failure::Work(format!("{}: cannot write: {e}", dir.display()).into()))
        }
    }
}
