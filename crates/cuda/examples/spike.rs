//! Checks the CUDA backend on a card against the reference and the engine's contract.
//!
//!     spike GOLDEN_DIR COMMIT DATE > result.json
//!
//! GOLDEN_DIR holds the golden models (`dense`, `moe`). A table goes to standard error, the record to
//! standard output; the exit code is 1 when a check fails.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use cuda::{Cuda, Options};
use engine::sampler::argmax;
use engine::{Backend, Cancel, Control, Finish, PAGE, Request, Sampling, Session, Want};
use lfm2::reference::Reference;
use serde_json::{Value, json};

type Anyhow<T> = Result<T, Box<dyn std::error::Error>>;

fn prompt(n: usize) -> Vec<u32> {
    (0..n as u32)
        .map(|i| (i * 7919 + i * i * 31) % 256)
        .collect()
}

/// Records checks by name.
struct Checks(Vec<Value>, bool);

impl Checks {
    fn add(&mut self, model: &str, name: &str, pass: bool, detail: impl std::fmt::Display) {
        eprintln!(
            "| {model:<7} | {name:<44} | {:<4} | {detail}",
            if pass { "pass" } else { "FAIL" }
        );
        self.1 &= pass;
        self.0.push(
            json!({"model": model, "check": name, "pass": pass, "detail": detail.to_string()}),
        );
    }
}

/// What a fresh sequence generates.
fn fresh(b: &mut Cuda, prompt: &[u32], n: usize, sampling: &Sampling) -> Anyhow<Vec<u32>> {
    let mut s = Session::new(b)?;
    let mut out = Vec::new();
    let mut r = Request {
        max_tokens: Some(n),
        ..Request::new(sampling.clone(), &[])
    };
    s.generate(b, prompt, &mut r, &mut |t| {
        out.push(t.id);
        true
    })?;
    Ok(out)
}

/// What the reference generates, one step at a time, choosing on the host with the engine's sampler.
fn by_reference(
    r: &Reference,
    prompt: &[u32],
    n: usize,
    sampling: &Sampling,
) -> Anyhow<(Vec<u32>, usize)> {
    let v = r.config().vocab_size;
    let mut state = r.state();
    let mut logits = r.forward(&mut state, prompt)?;
    let mut sampler = engine::Sampler::new(sampling.clone(), prompt);
    let mut out = Vec::new();
    let mut clear = 0;
    for _ in 0..n {
        let row = &logits[logits.len() - v..];
        let mut sorted = row.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        clear += usize::from(sorted[0] - sorted[1] > 1e-2);
        let t = sampler.choose(&mut row.to_vec());
        out.push(t);
        logits = r.forward(&mut state, &[t])?;
    }
    Ok((out, clear))
}

fn model(golden: &Path, name: &str, c: &mut Checks) -> Anyhow<String> {
    let opened = lfm2::open(&golden.join(name))?;
    let r = Reference::new(opened.weights())?;
    let start = Instant::now();
    let mut b = Cuda::new(
        opened.weights(),
        &Options {
            context: 1024,
            ..Options::default()
        },
        &mut |_, _| {},
    )?;
    let load = start.elapsed().as_secs_f64();
    c.add(
        name,
        "kernels compile and weights load",
        true,
        format!("{load:.2} s"),
    );

    // Prefill and score against the reference, chunk by chunk.
    let tokens = prompt(300);
    let all: Vec<usize> = (0..300).collect();
    let want = r.forward(&mut r.state(), &tokens)?;
    let range = want.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
    let mut s = b.create()?;
    let got = b.score(&mut s, &tokens, Want::Rows(&all))?.rows;
    let worst = got
        .iter()
        .zip(&want)
        .fold(0.0_f32, |m, (g, w)| m.max((g - w).abs()))
        / range;
    c.add(
        name,
        "300 logit rows against the reference",
        worst < 1e-4,
        format!("max error / range {worst:.1e}"),
    );
    for cut in [1, 31, 33, 64, 97] {
        let mut s = b.create()?;
        let mut rows = Vec::new();
        for part in tokens.chunks(cut) {
            rows.extend(b.score(&mut s, part, Want::Rows(&all[..part.len()]))?.rows);
        }
        let worst = rows
            .iter()
            .zip(&want)
            .fold(0.0_f32, |m, (g, w)| m.max((g - w).abs()))
            / range;
        c.add(
            name,
            &format!("the same in calls of {cut}"),
            worst < 1e-4,
            format!("{worst:.1e}"),
        );
    }

    // Decoding in chains of 32 on the device against single steps of the reference.
    let greedy = Sampling::greedy();
    let (want, _) = by_reference(&r, &tokens[..70], 100, &greedy)?;
    let got = fresh(&mut b, &tokens[..70], 100, &greedy)?;
    c.add(
        name,
        "100 greedy tokens equal the reference's",
        got == want,
        format!("{} tokens", got.len()),
    );
    for (label, sampling) in [
        (
            "temperature",
            Sampling {
                temperature: 0.8,
                seed: 7,
                ..Sampling::default()
            },
        ),
        (
            "top-k",
            Sampling {
                temperature: 1.0,
                top_k: 5,
                seed: 8,
                ..Sampling::default()
            },
        ),
        (
            "top-p",
            Sampling {
                temperature: 1.5,
                top_p: 0.8,
                seed: 9,
                ..Sampling::default()
            },
        ),
        (
            "min-p, penalties",
            Sampling {
                temperature: 1.2,
                min_p: 0.05,
                repetition_penalty: 1.2,
                presence_penalty: 0.3,
                frequency_penalty: 0.2,
                seed: 10,
                ..Sampling::default()
            },
        ),
    ] {
        let (want, _) = by_reference(&r, &tokens[..40], 64, &sampling)?;
        let got = fresh(&mut b, &tokens[..40], 64, &sampling)?;
        let same = got.iter().zip(&want).take_while(|(a, b)| a == b).count();
        c.add(
            name,
            &format!("64 seeded tokens equal the host's: {label}"),
            same == 64,
            format!("{same} equal"),
        );
    }

    // Late stops: the sink refuses tokens in the middle of a chain.
    let all_tokens = fresh(&mut b, &tokens[..50], 120, &greedy)?;
    let mut ok = true;
    for cut in [1, 2, 31, 32, 33, 63, 64, 65, 100] {
        let mut s = Session::new(&mut b)?;
        let mut out = Vec::new();
        let mut rq = Request {
            max_tokens: Some(120),
            ..Request::new(greedy.clone(), &[])
        };
        s.generate(&mut b, &tokens[..50], &mut rq, &mut |t| {
            out.push(t.id);
            out.len() < cut
        })?;
        ok &= out == all_tokens[..cut] && b.position(s.state()) == 50 + cut;
        // The state goes on as if the rest had never been computed.
        let mut next = tokens[..50].to_vec();
        next.extend(&out);
        next.extend([3, 1, 4]);
        let mut more = Vec::new();
        let mut rq = Request {
            max_tokens: Some(20),
            ..Request::new(greedy.clone(), &[])
        };
        let g = s.generate(&mut b, &next, &mut rq, &mut |t| {
            more.push(t.id);
            true
        })?;
        ok &= g.stats.prefilled_tokens == 3 && more == fresh(&mut b, &next, 20, &greedy)?;
    }
    c.add(
        name,
        "late stops roll back exactly, then go on",
        ok,
        "9 places".to_owned(),
    );

    // A stop token inside a chain is neither delivered nor kept.
    // The token that comes up latest for the first time, so that the stop lies inside a chain.
    let latest = |t: &u32| all_tokens.iter().position(|o| o == t);
    let stop = all_tokens.iter().copied().max_by_key(latest).unwrap_or(0);
    let first = all_tokens.iter().position(|t| *t == stop).unwrap_or(0);
    let stops = [stop];
    let mut s = Session::new(&mut b)?;
    let mut out = Vec::new();
    let mut rq = Request::new(greedy.clone(), &stops);
    let g = s.generate(&mut b, &tokens[..50], &mut rq, &mut |t| {
        out.push(t.id);
        true
    })?;
    let ok = g.finish == Finish::Stop(stop)
        && out == all_tokens[..first]
        && s.tokens().len() == 50 + first;
    c.add(
        name,
        "a stop token ends the chain on the device",
        ok,
        format!("after {first} tokens"),
    );

    // Edits and branches.
    let mut ok = true;
    let mut s = Session::new(&mut b)?;
    for (keep, new) in [(0, 200), (150, 40), (190, 1), (64, 30), (63, 90), (10, 5)] {
        let mut p = s.tokens()[..keep.min(s.tokens().len())].to_vec();
        let common = p.len();
        p.extend((0..new).map(|i| (i * 17 + keep as u32) % 256));
        let mut out = Vec::new();
        let mut rq = Request {
            max_tokens: Some(12),
            ..Request::new(greedy.clone(), &[])
        };
        let g = s.generate(&mut b, &p, &mut rq, &mut |t| {
            out.push(t.id);
            true
        })?;
        ok &= g.stats.prefilled_tokens <= p.len() - common + PAGE
            && out == fresh(&mut b, &p, 12, &greedy)?;
    }
    c.add(
        name,
        "a session of edits equals fresh starts",
        ok,
        "6 turns".to_owned(),
    );

    // Export, import.
    let mut s = b.create()?;
    b.prefill(&mut s, &tokens[..200], &mut Control::default())?;
    let bytes = b.export(&s, 0..3)?;
    let mut other = b.create()?;
    b.import(&mut other, &bytes)?;
    let rows = b
        .score(&mut other, &tokens[192..], Want::Rows(&[107]))?
        .rows;
    let same = argmax(&rows) == argmax(&got_row(&mut b, &tokens)?);
    c.add(
        name,
        "exported pages come back",
        same,
        format!("{} bytes", bytes.len()),
    );

    // Cancellation.
    let cancel = Cancel::default();
    let mut s = Session::new(&mut b)?;
    let mut n = 0;
    let mut rq = Request {
        max_tokens: Some(500),
        cancel: cancel.clone(),
        ..Request::new(greedy.clone(), &[])
    };
    let g = s.generate(&mut b, &tokens[..50], &mut rq, &mut |_| {
        n += 1;
        if n == 40 {
            cancel.cancel();
        }
        true
    })?;
    let ok = g.finish == Finish::Cancelled && b.position(s.state()) == s.tokens().len();
    c.add(
        name,
        "cancellation leaves a usable state",
        ok,
        format!("after {n} tokens"),
    );

    // How fast, for the record: naive kernels on a toy.
    let start = Instant::now();
    let out = fresh(&mut b, &tokens[..50], 900, &greedy)?;
    let rate = out.len() as f64 / start.elapsed().as_secs_f64();
    c.add(
        name,
        "decode rate (naive kernels, no claim)",
        true,
        format!("{rate:.0} tok/s"),
    );
    let d = b.device();
    Ok(format!("{} {}", d.name, d.isa))
}

fn got_row(b: &mut Cuda, tokens: &[u32]) -> Anyhow<Vec<f32>> {
    let mut s = b.create()?;
    Ok(b.score(&mut s, tokens, Want::Rows(&[tokens.len() - 1]))?
        .rows)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let [_, golden, commit, date] = &args[..] else {
        eprintln!("usage: spike GOLDEN_DIR COMMIT DATE");
        return ExitCode::from(2);
    };
    let mut checks = Checks(Vec::new(), true);
    let mut card = String::new();
    for name in ["dense", "moe"] {
        match model(Path::new(golden), name, &mut checks) {
            Ok(device) => card = device,
            Err(e) => checks.add(name, "runs", false, e.to_string()),
        }
    }
    let driver = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let driver = driver.lines().next().unwrap_or_default().to_owned();
    let v = json!({"schema": 1, "commit": commit, "date": date, "device": card, "driver": driver,
                   "checks": checks.0, "pass": checks.1});
    println!("{v:#}");
    if checks.1 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
