//! `molten synth`: a model with random weights.

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use lfm2::quant::FloatType;
use lfm2::synth::{self, Recipe};
use lfm2::write::{Mix, Target, WriteOptions};
use lfm2::{Config, family};

use crate::args::{Synth, SynthFormat};
use crate::terminal::{Progress, note};
use crate::{Failure, Outcome, interrupt};

pub(crate) fn run(args: &Synth) -> Outcome {
    let config = config(&args.model)?;
    let named_file = args.out.extension().is_some_and(|e| e == "gguf");
    let target = target(&config, args.format, named_file);
    let file = matches!(target, Target::Gguf(_));
    if file && !named_file {
        return Err(Failure::Usage(format!(
            "{}: this format is one file: give a name that ends in .gguf",
            args.out.display()
        )));
    }
    if !file && named_file {
        return Err(Failure::Usage(format!(
            "{}: this format is a directory; for a .gguf file give --format q4_0 or another GGUF type",
            args.out.display()
        )));
    }
    if args.force {
        clear(&args.out, file)?;
    }
    let bar = Mutex::new(Progress::new(format!("writing {}", args.out.display())));
    let stop = interrupt::stops_work();
    let progress = |done: u64, total: u64| {
        if let Ok(mut bar) = bar.lock() {
            bar.update(done, total);
        }
        !stop.is_cancelled()
    };
    let threads = cpu::team::allowed_processors().len();
    let options = WriteOptions {
        threads,
        progress: &progress,
    };
    let recipe = Recipe {
        seed: args.seed,
        ..Recipe::default()
    };
    let start = Instant::now();
    let name = format!("synthetic {}", args.model);
    let written = synth::write(&args.out, &config, &target, recipe, &name, options)?;
    drop(bar);
    let s = start.elapsed().as_secs_f64();
    note(&format!(
        "{}: {:.3} GB in {s:.1} s ({:.2} GB/s)",
        written.path.display(),
        written.bytes as f64 / 1e9,
        written.bytes as f64 / 1e9 / s.max(1e-3)
    ));
    Ok(())
}

/// The configuration `name` stands for: a member of the family, or a file's.
pub(crate) fn config(name: &str) -> Result<Config, Failure> {
    if let Some(c) = family::preset(name) {
        return Ok(c);
    }
    let path = Path::new(name);
    if path.exists() {
        let path = if path.is_dir() {
            path.join("config.json")
        } else {
            path.to_owned()
        };
        return Ok(Config {
            quantization: None,
            ..Config::from_file(&path)?
        });
    }
    Err(Failure::Usage(format!(
        "{name:?} is neither a config.json nor a member of the family ({})",
        family::NAMES.join(", ")
    )))
}

/// The form a format is written in; the float formats become GGUF when the target names such a file.
pub(crate) fn target(c: &Config, format: SynthFormat, named_file: bool) -> Target {
    let plain = |float, mix| {
        if named_file {
            Target::Gguf(mix)
        } else {
            Target::HuggingFace {
                float,
                shard_bytes: Some(5_000_000_000),
            }
        }
    };
    match format {
        SynthFormat::Mlx4 => Target::mlx(c, 4, 64),
        SynthFormat::Mlx8 => Target::mlx(c, 8, 64),
        SynthFormat::Bf16 => plain(FloatType::Bf16, Mix::Bf16),
        SynthFormat::F16 => plain(FloatType::F16, Mix::F16),
        SynthFormat::F32 => plain(FloatType::F32, Mix::F32),
        SynthFormat::Q4_0 => Target::Gguf(Mix::Q4_0),
        SynthFormat::Q8_0 => Target::Gguf(Mix::Q8_0),
        SynthFormat::Q4KM => Target::Gguf(Mix::Q4KM),
        SynthFormat::Q5KM => Target::Gguf(Mix::Q5KM),
        SynthFormat::Q6K => Target::Gguf(Mix::Q6K),
    }
}

/// Removes an earlier model, and only what is recognisably one.
fn clear(out: &Path, file: bool) -> Outcome {
    let failed =
        |e: std::io::Error| Failure::Work(format!("{}: cannot replace: {e}", out.display()).into());
    if file && out.is_file() {
        return std::fs::remove_file(out).map_err(failed);
    }
    if !file && out.is_dir() {
        let empty = std::fs::read_dir(out).map_err(failed)?.next().is_none();
        if !empty && !out.join("config.json").is_file() {
            return Err(Failure::Usage(format!(
                "{}: --force replaces a model; this directory holds something else",
                out.display()
            )));
        }
        return std::fs::remove_dir_all(out).map_err(failed);
    }
    Ok(())
}
