//! `molten verify`: this device's logits against the reference, or against a file another engine made.

mod against;
pub(crate) mod compare;
mod routing;

use std::io::Write as _;

use engine::{Backend, Request, Sampling, Session, Want};
use lfm2::reference::Reference;
use lfm2::{Config, oracle};
use serde_json::json;

use crate::args::Verify;
use crate::loaded::Files;
use crate::settings::Settings;
use crate::terminal::{Progress, note};
use crate::{Failure, Outcome};
use compare::{Agreement, BOUND, CLEAR, COVERAGE};

/// Positions compared at each step: the step's own and those before it.
const WINDOW: usize = 64;
/// Largest model the in-memory reference takes; beyond it the streaming oracle does the work.
pub(crate) const REFERENCE_PARAMETERS: u64 = 100_000_000;
/// Multiply-adds a second and thread of either reference, for the estimate: cautious.
const RATE: f64 = 2.5e9;

pub(crate) fn run(args: &Verify) -> Outcome {
    let settings = Settings::new(&args.model)?;
    let files = Files::open(settings.model.value.as_deref(), &settings)?;
    if let Some(path) = &args.against {
        return against::run(&files, &settings, path, args.json);
    }
    let mut backend = files.load(&settings)?;
    let c = files.config();
    let steps = steps(args, c, backend.context())?;
    let last = steps[steps.len() - 1];
    let threads = settings
        .threads
        .value
        .unwrap_or_else(|| cpu::team::allowed_processors().len());
    let small = c.parameters() <= REFERENCE_PARAMETERS;
    let seconds = oracle::work(c, last) / RATE / if small { 1.0 } else { threads as f64 };
    let name = if small {
        "reference"
    } else {
        "streaming oracle"
    };
    note(&format!(
        "comparing {} with the {name} up to step {last}: about {}",
        files.name,
        duration(seconds)
    ));

    let tokens = text(&mut backend, c, last)?;
    let positions: Vec<usize> = steps
        .iter()
        .flat_map(|s| s.saturating_sub(WINDOW)..*s)
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect();
    let mut s = backend.create()?;
    let got = backend.score(&mut s, &tokens, Want::Rows(&positions))?.rows;
    let v = c.vocab_size;
    let mut load = Vec::new();
    let want: Vec<Vec<f32>> = if small {
        let r = Reference::new(files.opened.weights())?;
        let mut state = r.state();
        let mut rows = Vec::new();
        let mut bar = Progress::new("reference");
        for (i, part) in tokens.chunks(WINDOW).enumerate() {
            let logits = r.forward(&mut state, part)?;
            rows.extend(
                positions
                    .iter()
                    .filter(|p| **p / WINDOW == i)
                    .map(|p| logits[p % WINDOW * v..][..v].to_vec()),
            );
            bar.update((i * WINDOW) as u64, tokens.len() as u64);
        }
        rows
    } else {
        let mut bar = Progress::new("oracle");
        let trace = oracle::trace(
            files.opened.weights(),
            &tokens,
            &positions,
            threads,
            &mut |done, all| {
                bar.update(done as u64, all as u64);
            },
        )?;
        load = trace.load;
        trace.logits
    };
    let routing = routing::Routing::new(&load);
    let results: Vec<(usize, Agreement)> = steps
        .iter()
        .map(|step| {
            let mut a = Agreement::default();
            for (i, p) in positions.iter().enumerate() {
                if (step.saturating_sub(WINDOW)..*step).contains(p) {
                    a.add(&got[i * v..][..v], &want[i]);
                }
            }
            (*step, a)
        })
        .collect();
    // A step of ten positions says little about coverage: that is judged over all of them.
    let mut all = Agreement::default();
    for (i, want) in want.iter().enumerate() {
        all.add(&got[i * v..][..v], want);
    }
    let pass = all.pass();
    let device = backend.device();
    let device = format!("{} ({})", device.kind.name(), device.isa);
    let out = if args.json {
        let rows: Vec<_> = results
            .iter()
            .map(|(step, a)| {
                json!({"step": step, "mse": a.mse(), "kl": a.kl(), "top1": a.top1(),
                       "top1_clear": a.top1_clear(), "clear": a.coverage(), "max_error_sd": a.max_error()})
            })
            .collect();
        format!(
            "{:#}\n",
            json!({"device": device, "model": files.name, "reference": name, "steps": rows,
                   "routing": routing, "pass": pass})
        )
    } else {
        let mut t = format!(
            "{device} against the {name}; each step with the {WINDOW} positions up to it\n\n\
             {:>6} {:>12} {:>12} {:>9} {:>11} {:>8} {:>11}\n",
            "step", "MSE", "KL", "top-1", "top-1 clear", "clear", "max error"
        );
        for (step, a) in &results {
            t += &format!(
                "{step:>6} {:>12.3e} {:>12.3e} {:>7.1} % {:>9.1} % {:>6.1} % {:>8.3} sd\n",
                a.mse(),
                a.kl(),
                100.0 * a.top1(),
                100.0 * a.top1_clear(),
                100.0 * a.coverage(),
                a.max_error()
            );
        }
        if let Some(r) = &routing {
            t += &format!("\n{r}\n");
        }
        t += &format!(
            "\nclear: top-2 gap above {CLEAR} sd of the position's logits; at least {:.0} % of all must be\n\
             bound: no logit off by more than {BOUND} sd\n{}\n",
            100.0 * COVERAGE,
            if pass { "pass" } else { "FAIL" }
        );
        t
    };
    std::io::stdout().write_all(out.as_bytes())?;
    if pass {
        Ok(())
    } else {
        Err(Failure::Work(
            "the logits do not agree with the reference".into(),
        ))
    }
}

/// The steps asked for, or those of 10, 500 and 5000 that model, context and patience allow.
fn steps(args: &Verify, c: &Config, context: usize) -> Result<Vec<usize>, Failure> {
    let mut steps = args.steps.clone();
    if steps.is_empty() {
        let large = c.parameters() > 2_000_000_000;
        steps = [10, 500, 5000]
            .into_iter()
            .filter(|s| *s <= context && !(large && *s > 500))
            .collect();
        if steps.is_empty() {
            steps.push(context.min(10));
        }
    }
    steps.sort_unstable();
    match steps.iter().find(|s| **s == 0 || **s > context) {
        Some(bad) => Err(Failure::Usage(format!(
            "--steps has {bad}; expected 1 to the context of {context}"
        ))),
        None => Ok(steps),
    }
}

/// A text the model itself finds likely: sampled from it, same every time.
fn text(backend: &mut cpu::Cpu, c: &Config, n: usize) -> Result<Vec<u32>, Failure> {
    let mut s = Session::new(backend)?;
    let mut r = Request {
        max_tokens: Some(n - 1),
        ..Request::new(
            Sampling {
                temperature: 0.8,
                seed: 1,
                ..Sampling::default()
            },
            &[],
        )
    };
    let mut bar = Progress::new("text");
    let mut tokens = vec![c.bos_token];
    s.generate(backend, &[c.bos_token], &mut r, &mut |t| {
        tokens.push(t.id);
        bar.update(tokens.len() as u64, n as u64);
        true
    })?;
    tokens.truncate(n);
    Ok(tokens)
}

fn duration(seconds: f64) -> String {
    if seconds < 90.0 {
        format!("{:.0} s", seconds.max(1.0))
    } else {
        format!("{:.0} min", seconds / 60.0)
    }
}
