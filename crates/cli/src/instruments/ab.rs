//! Two builds, interleaved: A B B A A B B A …, each run a fresh process.
//!
//! What changes slowly on the machine (heat, other work) then falls on both alike. The ratio of each pair of
//! neighbours is taken; the result is the geometric mean of the ratios with Student's 95 % interval on
//! their logarithms.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::child;
use super::record::Record;
use super::stats::{Ratio, median, paired_ratio};
use crate::Failure;
use crate::terminal::Progress;

/// How the figures came about, for the reader.
pub(crate) const METHOD: &str = "A B B A order, each run a fresh process; geometric mean of the \
pairs' ratios; 95 % interval by Student's t on their logarithms";

/// One figure of both builds.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    kind: String,
    depth: usize,
    a: Vec<f64>,
    b: Vec<f64>,
    ratio: Option<Ratio>,
}

/// Both builds' figures, A being this binary.
pub(crate) fn run(
    a: &Path,
    b: &Path,
    args: &[String],
    pairs: usize,
) -> Result<Vec<Figure>, Failure> {
    let mut bar = Progress::new("A B B A");
    let (mut of_a, mut of_b): (Vec<Record>, Vec<Record>) = (Vec::new(), Vec::new());
    for i in 0..pairs {
        for first in [true, false] {
            bar.update((2 * i + usize::from(!first)) as u64, 2 * pairs as u64);
            if is_a(i, first) {
                of_a.push(child::bench(a, args)?);
            } else {
                of_b.push(child::bench(b, args)?);
            }
        }
    }
    figures(&of_a, &of_b)
        .ok_or_else(|| Failure::Work("the two builds have no figure in common".into()))
}

/// Even pairs begin with A, odd ones with B.
fn is_a(pair: usize, first: bool) -> bool {
    pair.is_multiple_of(2) == first
}

fn figures(a: &[Record], b: &[Record]) -> Option<Vec<Figure>> {
    let speeds = |of: &[Record], kind: &str, depth: usize| -> Option<Vec<f64>> {
        of.iter()
            .map(|r| Some(r.find(kind, depth)?.tok_s))
            .collect()
    };
    let found: Vec<Figure> = a
        .first()?
        .runs
        .iter()
        .filter_map(|r| {
            let (x, y) = (speeds(a, &r.kind, r.depth)?, speeds(b, &r.kind, r.depth)?);
            Some(Figure {
                kind: r.kind.clone(),
                depth: r.depth,
                ratio: paired_ratio(&x, &y),
                a: x,
                b: y,
            })
        })
        .collect();
    (!found.is_empty()).then_some(found)
}

/// The table for a terminal.
pub(crate) fn text(figures: &[Figure], a: &Path, b: &Path) -> String {
    let mut t = format!(
        "A  {} (this binary)\nB  {}\n{}\n\n",
        a.display(),
        b.display(),
        METHOD.replace("; ", ";\n")
    );
    let _ = writeln!(
        t,
        "{:<10}{:>7}{:>11}{:>11}{:>9}   {:<17}{:>6}",
        "figure", "depth", "A tok/s", "B tok/s", "A/B", "95 % interval", "pairs"
    );
    for f in figures {
        let (ratio, interval, pairs) = match &f.ratio {
            Some(r) => (
                format!("{:.4}", r.mean),
                format!("{:.4} to {:.4}", r.low, r.high),
                r.pairs,
            ),
            None => ("-".to_owned(), "-".to_owned(), f.a.len()),
        };
        let _ = writeln!(
            t,
            "{:<10}{:>7}{:>11.2}{:>11.2}{ratio:>9}   {interval:<17}{pairs:>6}",
            f.kind,
            f.depth,
            median(&f.a),
            median(&f.b)
        );
    }
    t
}

/// The same as JSON.
pub(crate) fn json(figures: &[Figure], a: &Path, b: &Path) -> Value {
    let rows: Vec<_> = figures
        .iter()
        .map(|f| {
            json!({"kind": f.kind, "depth": f.depth, "a_tok_s": f.a, "b_tok_s": f.b,
                   "ratio": f.ratio.map(|r| r.mean), "low": f.ratio.map(|r| r.low),
                   "high": f.ratio.map(|r| r.high)})
        })
        .collect();
    json!({"schema": 1, "method": METHOD, "a": a.display().to_string(), "b": b.display().to_string(), "figures": rows})
}

#[cfg(test)]
mod tests {
    use super::super::record::Run;
    use super::*;

    #[test]
    fn the_order_is_a_b_b_a() {
        let order: String = (0..4)
            .flat_map(|i| [true, false].map(|f| if is_a(i, f) { 'A' } else { 'B' }))
            .collect();
        assert_eq!(order, "ABBAABBA");
    }

    #[test]
    fn pairs_stay_pairs() {
        let r = |s: f64| Record {
            runs: vec![Run::new("decode", 0, 64, vec![64.0 / s])],
            ..Record::default()
        };
        // The machine slows by half, the ratio does not.
        let f = figures(&[r(20.0), r(10.0)], &[r(10.0), r(5.0)]).unwrap();
        let ratio = f[0].ratio.unwrap();
        assert!((ratio.mean - 2.0).abs() < 1e-9 && (ratio.high - ratio.low).abs() < 1e-9);
        let t = text(&f, Path::new("a"), Path::new("b"));
        assert!(t.lines().last().unwrap().chars().count() <= 80, "{t}");
        assert!(figures(&[r(1.0)], &[Record::default()]).is_none());
    }
}
