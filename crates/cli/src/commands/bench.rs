//! `molten bench`: speeds with their ceilings, and what is done with the results.

mod report;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use cpu::fit::Fit;
use engine::{Backend, Control};
use sha2::{Digest as _, Sha256};

use crate::args::{Bench, ModelArgs};
use crate::instruments::device::{Limits, team};
use crate::instruments::gate::{self, Evidence};
use crate::instruments::machine::{self, State};
use crate::instruments::measure::{self, Kind, Plan, SHORT_PROMPT, made_up, measure};
use crate::instruments::record::{Device, Model, Record, Run, SCHEMA, now, write_over};
use crate::instruments::subject::Subject;
use crate::instruments::sustained::sustained;
use crate::instruments::{ab, child, compare, plot};
use crate::loaded::Files;
use crate::settings::Settings;
use crate::terminal::{Progress, note};
use crate::{Failure, Outcome};

/// Depths measured when nobody says which, as far as model and memory go.
const DEPTHS: [usize; 4] = [0, 256, 4096, 16384];
/// Fresh processes started for the start-up time.
const STARTS: usize = 5;

pub(crate) fn run(args: &Bench) -> Outcome {
    if let [a, b] = &args.compare[..] {
        return compared(&Record::read(a)?, &Record::read(b)?, args);
    }
    if let (false, Some(out)) = (args.from.is_empty(), &args.plot) {
        let records: Vec<Record> = args
            .from
            .iter()
            .map(|p| Record::read(p))
            .collect::<Result<_, _>>()?;
        return write_over(out, plot::picture(&records)?.as_bytes());
    }
    let settings = Settings::new(&args.model)?;
    if args.check {
        return check_only(settings);
    }
    if args.first_token {
        return first_token(&settings);
    }
    if let Some(other) = &args.ab {
        return versus(args, &settings, other);
    }
    let record = measured(args, settings)?;
    if let Some(out) = &args.plot {
        write_over(
            out,
            plot::picture(std::slice::from_ref(&record))?.as_bytes(),
        )?;
    }
    if let Some(dir) = &args.record {
        let path = record.keep(dir)?;
        note(&format!("recorded in {}", path.display()));
    }
    let text = if args.json {
        record.to_json()?
    } else {
        report::text(&record)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn compared(a: &Record, b: &Record, args: &Bench) -> Outcome {
    for d in compare::differences(a, b) {
        note(&format!("note: {d}"));
    }
    if let Some(out) = &args.plot {
        write_over(out, plot::picture(&[a.clone(), b.clone()])?.as_bytes())?;
    }
    std::io::stdout().write_all(compare::table(a, b).as_bytes())?;
    Ok(())
}

/// One whole sitting.
fn measured(args: &Bench, mut settings: Settings) -> Result<Record, Failure> {
    let (mut state, ticks) = State::before();
    let subject = match &args.synthetic {
        Some(name) => Subject::synthetic(name, args.format, &settings)?,
        None => Subject::open(settings.model.value.as_deref(), &settings)?,
    };
    let mut plan = plan(args);
    plan.depths = depths(args, &plan, &subject, &settings)?;
    let typed_context = settings.context.value;
    settings.context.value = Some(room(&plan));

    let mut checks = Vec::new();
    if subject.name != "spark" {
        checks.extend(check_builtin(&settings)?);
    }
    let before = Limits::measure(&settings, args.bandwidth);

    let counted = machine::reset_peak_memory();
    let mut backend = subject.load(&settings)?;
    let evidence = Evidence::gather(&mut backend, &subject.config)?;
    checks.push(evidence.phases().or_refuse(&subject.name)?);

    let mut runs = measure(&mut backend, &plan)?;
    if let Some(seconds) = args.sustained {
        let depth = plan.depths.first().copied().unwrap_or(0);
        runs.extend(sustained(&mut backend, depth, plan.tokens, seconds)?);
    }
    let peak = machine::peak_memory();
    let device = backend.device().clone();
    drop(backend);
    // Needs four bytes a weight, so it comes after the peak was read.
    if let Some(files) = subject.files()
        && subject.config.parameters() <= super::verify::REFERENCE_PARAMETERS
    {
        let verdict = evidence.reference(files.opened.weights())?;
        checks.push(verdict.or_refuse(&subject.name)?);
    }
    let (limits, moved) = before.with_later(Limits::measure(&settings, args.bandwidth));
    state.notes.extend(moved);
    if plan.kinds.contains(&Kind::Start) {
        settings.context.value = typed_context;
        runs.push(start(&subject, &settings, args.repeats as usize)?);
    }
    state.after(ticks);
    if !counted {
        state
            .notes
            .push("the peak of memory includes the probe's buffer".to_owned());
    }
    let runs = runs
        .into_iter()
        .map(|r| with_ceiling(r, &subject, &limits))
        .collect();
    Ok(Record {
        schema: SCHEMA,
        engine: Some("molten".to_owned()),
        commit: args
            .commit
            .clone()
            .or_else(|| option_env!("MOLTEN_COMMIT").map(str::to_owned)),
        date: now(),
        device: Device {
            name: device.name,
            kind: device.kind.name().to_owned(),
            threads: device.threads,
            isa: Some(device.isa),
        },
        model: Model {
            format: subject.format.clone(),
            bits: Some(subject.bits()),
            bytes_per_token: Some(subject.token_bytes(0).total()),
            hash: subject.hash(),
            name: subject.name,
        },
        precision: Some(settings.precision.value.name().to_owned()),
        bandwidth_gb_s: Some(limits.read_gb_s()),
        integer_gop_s: Some(limits.integer_gop_s()),
        correct: Some(true),
        check: Some(checks.join("; ")),
        binary_sha256: binary_hash(),
        driver: Some(machine::system()),
        machine: Some(state),
        runs,
        peak_rss_bytes: peak,
    })
}

fn plan(args: &Bench) -> Plan {
    let kinds = match (&args.only[..], args.sustained) {
        ([], None) => vec![Kind::Decode, Kind::Prefill, Kind::Ttft, Kind::Start],
        // A long watch is a measurement of its own.
        ([], Some(_)) => Vec::new(),
        (only, _) => only.to_vec(),
    };
    Plan {
        depths: args.depths.clone(),
        tokens: args.tokens as usize,
        prompt_tokens: args.prompt_tokens as usize,
        repeats: args.repeats as usize,
        kinds,
    }
}

/// Positions the plan needs in all.
fn room(plan: &Plan) -> usize {
    let deepest = plan.depths.iter().copied().max().unwrap_or(0);
    (deepest + plan.beyond()).max(gate::ROOM)
}

/// The depths asked for, or those of the usual ones that model, context and memory allow.
fn depths(
    args: &Bench,
    plan: &Plan,
    subject: &Subject,
    settings: &Settings,
) -> Result<Vec<usize>, Failure> {
    let limit = subject.config.max_positions;
    let limit = settings.context.value.map_or(limit, |c| c.min(limit));
    let most = limit.checked_sub(plan.beyond()).ok_or_else(|| {
        Failure::Usage(format!(
            "{} holds {limit} tokens, too few for {} more at any depth: give fewer --tokens or --prompt-tokens",
            subject.name,
            plan.beyond()
        ))
    })?;
    if !args.depths.is_empty() {
        return match args.depths.iter().find(|d| **d > most) {
            Some(bad) => Err(Failure::Usage(format!(
                "--depths has {bad}; {} goes to {most} (of {limit} tokens {} are for the measured work)",
                subject.name,
                plan.beyond()
            ))),
            None => Ok(args.depths.clone()),
        };
    }
    if args.sustained.is_some() && args.only.is_empty() {
        return Ok(vec![0]);
    }
    let fits = subject
        .files()
        .and_then(|f| Fit::new(f.opened.weights(), plan.beyond()).largest)
        .unwrap_or(usize::MAX);
    let (kept, left): (Vec<usize>, Vec<usize>) = DEPTHS
        .into_iter()
        .partition(|d| *d == 0 || (*d <= most && d + plan.beyond() <= fits));
    if !left.is_empty() {
        let left: Vec<String> = left.iter().map(ToString::to_string).collect();
        note(&format!(
            "left out: depth {}, beyond what {} or the memory here holds",
            left.join(", "),
            subject.name
        ));
    }
    Ok(kept)
}

/// The built-in model on this path and precision against the reference; nothing in a build without it.
///
/// In a process of its own, so that what it leaves in memory is not counted as the measured model's.
fn check_builtin(settings: &Settings) -> Result<Option<String>, Failure> {
    if !cfg!(feature = "spark") {
        return Ok(None);
    }
    let mut settings = settings.clone();
    settings.context.value = None;
    let mut args = vec!["bench".to_owned(), "--check".to_owned()];
    args.extend(model_args(&settings, None));
    child::said(&std::env::current_exe()?, &args).map(Some)
}

/// The child's side of [`check_builtin`].
fn check_only(mut settings: Settings) -> Outcome {
    settings.context.value = Some(gate::ROOM);
    let files = Files::open(settings.model.value.as_deref(), &settings)?;
    let mut backend = files.load(&settings)?;
    let evidence = Evidence::gather(&mut backend, files.config())?;
    evidence.phases().or_refuse(&files.name)?;
    let verdict = evidence.reference(files.opened.weights())?;
    let text = format!("{}: {}\n", files.name, verdict.or_refuse(&files.name)?);
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Adds the ceiling: memory for decoding; memory or arithmetic, whichever is slower, for prompts.
fn with_ceiling(run: Run, subject: &Subject, limits: &Limits) -> Run {
    let bytes_s = limits.read_gb_s() * 1e9;
    match run.kind.as_str() {
        "decode" | "sustained" | "drift" => {
            // The context grows while tokens are decoded: the middle one is taken.
            let bytes = subject.token_bytes(run.depth + run.tokens / 2).total();
            let cached = machine::last_level_cache()
                .filter(|c| subject.token_bytes(0).total() < *c as f64)
                .map(|_| {
                    "what a token reads fits in the cache: memory does not bound it".to_owned()
                });
            let mut run = run.under(bytes_s / bytes.max(1.0), "memory");
            run.note = run.note.or(cached);
            run
        }
        "prefill" | "ttft" => {
            let depth = if run.kind == "ttft" { 0 } else { run.depth };
            let reading = subject.prefill_bytes(run.tokens, depth) / bytes_s.max(1.0);
            let ops = subject.config.prefill_operations(run.tokens, depth);
            let computing = ops / (limits.integer_gop_s() * 1e9).max(1.0);
            let tokens = run.tokens as f64;
            if computing > reading {
                run.under(tokens / computing, "compute")
            } else {
                run.under(tokens / reading.max(1e-12), "memory")
            }
        }
        _ => run,
    }
}

/// Start-up time: fresh processes of this binary, from before they exist to their first token.
fn start(subject: &Subject, settings: &Settings, repeats: usize) -> Result<Run, Failure> {
    let exe = std::env::current_exe()?;
    let mut args = vec!["bench".to_owned(), "--first-token".to_owned()];
    args.extend(model_args(settings, subject.reopen()));
    let mut bar = Progress::new("starting");
    let n = repeats.min(STARTS);
    let mut seconds = Vec::new();
    let mut peak = None;
    for i in 0..n {
        bar.update(i as u64, n as u64);
        let (s, said) = child::first_token(&exe, &args)?;
        seconds.push(s);
        peak = peak.max(said.peak_rss_bytes);
    }
    let mut run = Run::new("start", 0, SHORT_PROMPT, seconds);
    run.note = peak.map(|p| format!("peak memory then {:.1} MB", p as f64 / 1e6));
    Ok(run)
}

/// The flags that lead another process to the same model and path.
fn model_args(settings: &Settings, model: Option<&Path>) -> Vec<String> {
    let mut args = vec![
        "--precision".to_owned(),
        settings.precision.value.name().to_owned(),
        "--model".to_owned(),
        model.map_or_else(|| "spark".to_owned(), |p| p.display().to_string()),
    ];
    let (threads, isa) = team(settings);
    args.extend(["--threads".to_owned(), threads.to_string()]);
    args.extend(["--isa".to_owned(), isa.name().to_owned()]);
    if let Some(c) = settings.context.value {
        args.extend(["--context".to_owned(), c.to_string()]);
    }
    args
}

/// The child's side of [`start`]: everything a chat opens, then one token.
fn first_token(settings: &Settings) -> Outcome {
    let files = Files::open(settings.model.value.as_deref(), settings)?;
    // Models for timing may have no tokenizer; where there is one, opening it is part of the start.
    let text = files.text();
    let mut b = files.load(settings)?;
    let mut s = b.create()?;
    b.prefill(
        &mut s,
        &made_up(b.vocab_size(), SHORT_PROMPT),
        &mut Control::default(),
    )?;
    measure::decode(&mut b, &mut s, 1)?;
    let said = child::FirstToken {
        peak_rss_bytes: machine::peak_memory(),
    };
    let mut out = std::io::stdout();
    writeln!(out, "{}", serde_json::to_string(&said)?)?;
    out.flush()?;
    drop(text);
    Ok(())
}

/// `--ab`.
fn versus(args: &Bench, settings: &Settings, other: &Path) -> Outcome {
    if !other.is_file() {
        return Err(Failure::Usage(format!(
            "--ab {}: no such file; give another build of molten",
            other.display()
        )));
    }
    let exe = std::env::current_exe()?;
    let bandwidth = args
        .bandwidth
        .unwrap_or_else(|| Limits::measure(settings, None).read_gb_s());
    let figures = ab::run(
        &exe,
        other,
        &versus_args(args, bandwidth),
        args.pairs as usize,
    )?;
    let text = if args.json {
        format!("{:#}\n", ab::json(&figures, &exe, other))
    } else {
        ab::text(&figures, &exe, other)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// What both builds are told: the same narrow measurement.
fn versus_args(args: &Bench, bandwidth: f64) -> Vec<String> {
    let mut v = vec!["--bandwidth".to_owned(), bandwidth.to_string()];
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            v.extend([name.to_owned(), value]);
        }
    };
    let ModelArgs {
        model,
        device,
        context,
        threads,
        isa,
        precision,
    } = &args.model;
    add("--model", model.clone());
    add("--device", device.clone());
    add("--context", context.map(|c| c.to_string()));
    add("--threads", threads.map(|t| t.to_string()));
    add("--isa", isa.clone());
    add("--precision", precision.clone());
    if let Some(name) = &args.synthetic {
        use clap::ValueEnum as _;
        add("--synthetic", Some(name.clone()));
        let format = args.format.to_possible_value();
        add("--format", format.map(|f| f.get_name().to_owned()));
    }
    let list = |v: Vec<String>, default: &str| {
        if v.is_empty() {
            default.to_owned()
        } else {
            v.join(",")
        }
    };
    let depths = args.depths.iter().map(ToString::to_string).collect();
    add("--depths", Some(list(depths, "0")));
    let only = args.only.iter().map(|k| k.name().to_owned()).collect();
    add("--only", Some(list(only, "decode")));
    add("--tokens", Some(args.tokens.to_string()));
    add("--prompt-tokens", Some(args.prompt_tokens.to_string()));
    add("--repeats", Some(args.repeats.to_string()));
    v
}

/// SHA-256 of the running binary.
fn binary_hash() -> Option<String> {
    let path: PathBuf = std::env::current_exe().ok()?;
    let mut hash = Sha256::new();
    std::io::copy(
        &mut std::fs::File::open(path).ok()?,
        &mut Hashing(&mut hash),
    )
    .ok()?;
    let digest = hash.finalize();
    Some(digest.iter().fold(String::new(), |mut t, b| {
        let _ = write!(t, "{b:02x}");
        t
    }))
}

struct Hashing<'a>(&'a mut Sha256);

impl std::io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
