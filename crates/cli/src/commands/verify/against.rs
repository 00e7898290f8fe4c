//! Comparison with what another engine computed on the same model: a file made by
//! `tools/golden/against.py`.

use std::io::Write as _;
use std::path::Path;

use engine::{Backend, Want};
use serde::Deserialize;
use serde_json::json;

use super::compare::{BOUND, CLEAR, COVERAGE};
use crate::loaded::Files;
use crate::settings::Settings;
use crate::{Failure, Outcome};

/// The file.
#[derive(Debug, Deserialize)]
struct Against {
    schema: u32,
    /// Engine, version and precision.
    engine: String,
    /// The text: prompt and the engine's greedy continuation.
    tokens: Vec<u32>,
    positions: Vec<Position>,
}

/// One position: the logits after `tokens[..= position]`.
#[derive(Debug, Deserialize)]
struct Position {
    position: usize,
    /// The largest logits, best first.
    top: Vec<(u32, f32)>,
    /// Standard deviation of all logits of the position.
    sd: f32,
}

pub(super) fn run(files: &Files, settings: &Settings, path: &Path, as_json: bool) -> Outcome {
    let wrong = |what: String| Failure::Usage(format!("{}: {what}", path.display()));
    let bytes = std::fs::read(path).map_err(|e| wrong(format!("cannot read: {e}")))?;
    let a: Against = serde_json::from_slice(&bytes)
        .map_err(|e| wrong(format!("is not a file of tools/golden/against.py: {e}")))?;
    if a.schema != 1 {
        return Err(wrong(format!(
            "has schema {}; this version reads 1",
            a.schema
        )));
    }
    let vocab = files.config().vocab_size;
    for p in &a.positions {
        let ids_fit = p.top.iter().all(|(id, _)| (*id as usize) < vocab);
        if p.position >= a.tokens.len()
            || p.top.len() < 2
            || !ids_fit
            || p.sd.is_nan()
            || p.sd <= 0.0
        {
            return Err(wrong(format!(
                "position {} does not fit its text or this model",
                p.position
            )));
        }
    }
    if a.positions.is_empty() {
        return Err(wrong("has no positions".to_owned()));
    }
    let mut settings = settings.clone();
    if settings.context.value.is_none() {
        settings.context.value = Some(a.tokens.len().max(64));
    }
    let mut backend = files.load(&settings)?;
    let mut rows: Vec<usize> = a.positions.iter().map(|p| p.position).collect();
    rows.sort_unstable();
    rows.dedup();
    let mut s = backend.create()?;
    let got = backend.score(&mut s, &a.tokens, Want::Rows(&rows))?.rows;
    let (mut clear, mut same, mut same_clear) = (0, 0, 0);
    let mut max = 0.0_f32;
    let mut first = None;
    for p in &a.positions {
        let at = rows.binary_search(&p.position).unwrap_or(0);
        let row = &got[at * vocab..][..vocab];
        let equal = engine::sampler::argmax(row) == p.top[0].0;
        let is_clear = p.top[0].1 - p.top[1].1 > CLEAR * p.sd;
        same += usize::from(equal);
        clear += usize::from(is_clear);
        same_clear += usize::from(is_clear && equal);
        if is_clear && !equal && first.is_none() {
            first = Some(p.position);
        }
        for (id, l) in &p.top {
            let e = (row[*id as usize] - l).abs() / p.sd;
            max = if e.is_nan() {
                f32::INFINITY
            } else {
                max.max(e)
            };
        }
    }
    let n = a.positions.len();
    let coverage = clear as f64 / n as f64;
    // Another engine rounds elsewhere, so only its clear choices bind; the error is reported.
    let pass = same_clear == clear && coverage >= COVERAGE;
    let out = if as_json {
        let v = json!({"against": a.engine, "positions": n, "clear": clear, "top1": same, "top1_clear": same_clear,
                       "max_error_sd": max, "first_difference": first, "pass": pass});
        format!("{v:#}\n")
    } else {
        format!(
            "against {}: {n} positions, {clear} clear; same best token in {same}, in {same_clear} of the clear\n\
             largest error among its top logits: {max:.3} sd (our own bound against the reference is {BOUND})\n{}\n",
            a.engine,
            match first {
                None if pass => "pass".to_owned(),
                None => format!(
                    "FAIL: fewer than {:.0} % of the positions are clear",
                    100.0 * COVERAGE
                ),
                Some(p) => format!("FAIL: the first clear difference is after token {p}"),
            }
        )
    };
    std::io::stdout().write_all(out.as_bytes())?;
    if pass {
        Ok(())
    } else {
        Err(Failure::Work(
            format!("the logits do not agree with {}", a.engine).into(),
        ))
    }
}
