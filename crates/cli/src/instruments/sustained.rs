//! Speed over time: does the machine hold it?

use std::time::Instant;

use engine::{Backend, Result};

use super::measure::{Ground, decode, made_up};
use super::record::Run;
use super::stats::{drift, median};
use crate::terminal::Progress;

/// Decodes at `depth` for `seconds`, `tokens` at a time, always from the same state, so that every sample is
/// the same work. Gives a `sustained` run (with the series) and, with enough samples, a `drift` run: the last
/// fifth of the time.
pub(crate) fn sustained<B: Backend>(
    b: &mut B,
    depth: usize,
    tokens: usize,
    seconds: f64,
) -> Result<Vec<Run>> {
    let text = made_up(b.vocab_size(), depth.max(1));
    let ground = Ground::reach(b, &text)?;
    let mut bar = Progress::new("decoding");
    let start = Instant::now();
    let mut series = Vec::new();
    let mut repeats = Vec::new();
    loop {
        let mut s = ground.again(b)?;
        let (_, t) = decode(b, &mut s, tokens)?;
        let now = start.elapsed().as_secs_f64();
        series.push([now, tokens as f64 / t.max(1e-9)]);
        repeats.push(t);
        bar.update((now * 1e3) as u64, (seconds * 1e3) as u64);
        if now >= seconds {
            break;
        }
    }
    Ok(runs(depth, tokens, repeats, series))
}

fn runs(depth: usize, tokens: usize, repeats: Vec<f64>, series: Vec<[f64; 2]>) -> Vec<Run> {
    let speeds: Vec<f64> = series.iter().map(|p| p[1]).collect();
    let drift = drift(&speeds);
    let fifth = repeats.len() / 5;
    let last = repeats[repeats.len() - fifth..].to_vec();
    let mut all = Run::new("sustained", depth, tokens, repeats);
    all.series = series;
    let Some(d) = drift else {
        all.note = Some("too few samples to tell drift: give a longer time".to_owned());
        return vec![all];
    };
    all.note = Some(d.flag().unwrap_or_else(|| {
        format!(
            "steady: the last fifth ran at {:.1} % of the first, {:.1} tok/s on the median",
            100.0 * (1.0 + d.change()),
            median(&speeds)
        )
    }));
    let mut end = Run::new("drift", depth, tokens, last);
    end.note = Some(format!(
        "{:+.1} % from the first fifth to the last",
        100.0 * d.change()
    ));
    vec![all, end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_held_against_the_start() {
        let speeds: Vec<f64> = (0..20).map(|i| if i < 16 { 10.0 } else { 8.0 }).collect();
        let series = speeds
            .iter()
            .zip(1..)
            .map(|(v, i)| [f64::from(i), *v])
            .collect();
        let repeats = speeds.iter().map(|v| 64.0 / v).collect();
        let r = runs(0, 64, repeats, series);
        assert_eq!((&r[0].kind[..], &r[1].kind[..]), ("sustained", "drift"));
        assert!((r[0].tok_s - 10.0).abs() < 1e-9 && (r[1].tok_s - 8.0).abs() < 1e-9);
        assert!(
            r[0].note.as_deref().unwrap().contains("20.0 % slower"),
            "{:?}",
            r[0].note
        );
        let few = runs(0, 64, vec![1.0], vec![[1.0, 64.0]]);
        assert_eq!(few.len(), 1);
    }
}
