//! Results as pictures: speed against depth, and speed over time.

use super::chart::{Chart, Line, short};
use super::record::{Record, Run};
use crate::Failure;

/// Draws what the results hold: decoding by depth, else the sustained speed.
pub(crate) fn picture(records: &[Record]) -> Result<String, Failure> {
    let chart = by_depth(records)
        .or_else(|| over_time(records))
        .ok_or_else(|| {
            Failure::Usage(
                "nothing to draw: no decoding at any depth, nothing sustained".to_owned(),
            )
        })?;
    Ok(chart.svg())
}

/// Where a depth lies on the axis before it is scaled: even steps for powers of two beyond 256.
fn place(depth: usize) -> f64 {
    (1.0 + depth as f64 / 256.0).log2()
}

/// 256, 4 K, 16 K.
fn tick(depth: usize) -> String {
    if depth >= 1024 && depth.is_multiple_of(1024) {
        format!("{} K", depth / 1024)
    } else {
        depth.to_string()
    }
}

fn decodes(r: &Record) -> Vec<&Run> {
    let mut runs: Vec<&Run> = r.runs.iter().filter(|r| r.kind == "decode").collect();
    runs.sort_by_key(|r| r.depth);
    runs
}

/// What is said under the title: what all results have in common.
fn subtitle(records: &[Record]) -> String {
    let r = &records[0];
    let mut parts = vec![r.device.name.clone()];
    let same = |f: &dyn Fn(&Record) -> Option<String>| {
        let v = f(r)?;
        records
            .iter()
            .all(|o| f(o).as_ref() == Some(&v))
            .then_some(v)
    };
    parts.extend(same(&|r| r.device.threads.map(|n| format!("{n} threads"))));
    parts.extend(same(&|r| r.device.isa.clone()));
    parts.extend(same(&|r| {
        r.model.bits.map(|b| format!("{b:.2} bits a weight"))
    }));
    parts.extend(same(&|r| r.precision.clone()));
    parts.extend(same(&|r| r.date.get(..10).map(str::to_owned)));
    parts.retain(|p| !p.is_empty());
    parts.join(", ")
}

fn label(r: &Record, run: &Run) -> Vec<String> {
    let mut l = vec![match (&r.engine, r.model.bits) {
        (None, _) => "Molten".to_owned(),
        (Some(e), _) if e == "molten" => "Molten".to_owned(),
        (Some(e), _) => e.clone(),
    }];
    l.push(match run.share_of_ceiling {
        Some(s) => format!(
            "{} tok/s, {:.0} % of the ceiling",
            short(run.tok_s),
            100.0 * s
        ),
        None => format!("{} tok/s", short(run.tok_s)),
    });
    l
}

fn by_depth(records: &[Record]) -> Option<Chart> {
    let mut depths: Vec<usize> = records
        .iter()
        .flat_map(|r| decodes(r).into_iter().map(|r| r.depth))
        .collect();
    depths.sort_unstable();
    depths.dedup();
    let width = place(*depths.last()?).max(1e-9);
    let x = |d: usize| place(d) / width;
    let mut lines = Vec::new();
    let mut limits: Vec<Line> = Vec::new();
    for r in records {
        let runs = decodes(r);
        let Some(last) = runs.last() else { continue };
        let ends = |r: &Run| {
            let speeds = r
                .repeats
                .iter()
                .filter(|s| **s > 0.0)
                .map(|s| r.tokens as f64 / s);
            speeds.fold((r.tok_s, r.tok_s), |(a, b), v| (a.min(v), b.max(v)))
        };
        lines.push(Line {
            points: runs.iter().map(|r| (x(r.depth), r.tok_s)).collect(),
            whiskers: runs.iter().map(|r| ends(r)).collect(),
            label: label(r, last),
            dots: true,
            ..Line::default()
        });
        let points: Vec<_> = runs
            .iter()
            .filter_map(|r| Some((x(r.depth), r.ceiling_tok_s?)))
            .collect();
        // Engines measured in one sitting share a ceiling: it is drawn once.
        let known = limits.iter().any(|l| {
            l.points.len() == points.len()
                && l.points
                    .iter()
                    .zip(&points)
                    .all(|(a, b)| (a.1 / b.1 - 1.0).abs() < 0.03)
        });
        if !points.is_empty() && !known {
            let bandwidth = r.bandwidth_gb_s.map(|b| format!("at {b:.1} GB/s"));
            limits.push(Line {
                points,
                label: std::iter::once("what the memory allows".to_owned())
                    .chain(bandwidth)
                    .collect(),
                limit: true,
                ..Line::default()
            });
        }
    }
    if lines.is_empty() {
        return None;
    }
    let mut footer = Vec::new();
    if !limits.is_empty() {
        footer.push(
            "Dashed: read bandwidth measured in the same run ÷ bytes a token must move; keys and values grow with the context."
                .to_owned(),
        );
    }
    footer.push(
        "Dots are medians; thin bars reach from the slowest to the fastest repeat.".to_owned(),
    );
    lines.extend(limits);
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for d in &depths {
        if ticks.last().is_none_or(|t| x(*d) - t.0 > 0.06) {
            ticks.push((x(*d), tick(*d)));
        }
    }
    Some(Chart {
        title: format!(
            "{}: speed of decoding by length of context",
            records[0].model.name
        ),
        subtitle: subtitle(records),
        x_label: "tokens already in the context".to_owned(),
        y_label: "tokens a second, one user".to_owned(),
        x_ticks: ticks,
        lines,
        footer,
    })
}

fn over_time(records: &[Record]) -> Option<Chart> {
    let runs: Vec<(&Record, &Run)> = records
        .iter()
        .flat_map(|r| r.runs.iter().map(move |run| (r, run)))
        .filter(|(_, run)| run.kind == "sustained" && run.series.len() > 1)
        .collect();
    let end = runs
        .iter()
        .filter_map(|(_, r)| r.series.last())
        .map(|p| p[0])
        .fold(0.0, f64::max);
    if end <= 0.0 {
        return None;
    }
    let (unit, name) = if end > 180.0 {
        (60.0, "minutes")
    } else {
        (1.0, "seconds")
    };
    let mut lines: Vec<Line> = Vec::new();
    for (r, run) in &runs {
        lines.push(Line {
            points: run.series.iter().map(|p| (p[0] / end, p[1])).collect(),
            label: label(r, run),
            ..Line::default()
        });
    }
    if let Some(c) = runs.iter().find_map(|(_, r)| r.ceiling_tok_s) {
        lines.push(Line {
            points: vec![(0.0, c), (1.0, c)],
            label: vec!["what the memory allows".to_owned()],
            limit: true,
            ..Line::default()
        });
    }
    let ticks = (0..=5)
        .map(|i| {
            let share = f64::from(i) / 5.0;
            (share, short_time(share * end / unit))
        })
        .collect();
    Some(Chart {
        title: format!("{}: speed of decoding over time", records[0].model.name),
        subtitle: subtitle(records),
        x_label: format!("{name} since the start"),
        y_label: "tokens a second, one user".to_owned(),
        x_ticks: ticks,
        lines,
        footer: runs.iter().filter_map(|(_, r)| r.note.clone()).collect(),
    })
}

fn short_time(v: f64) -> String {
    if v >= 10.0 || (v - v.round()).abs() < 0.05 {
        format!("{v:.0}")
    } else {
        format!("{v:.1}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(engine: Option<&str>, tok: &[(usize, f64)], ceiling: f64) -> Record {
        Record {
            engine: engine.map(str::to_owned),
            runs: tok
                .iter()
                .map(|(d, v)| Run::new("decode", *d, 64, vec![64.0 / v]).under(ceiling, "memory"))
                .collect(),
            ..Record::default()
        }
    }

    #[test]
    fn engines_of_one_sitting_share_one_ceiling() {
        let ours = record(None, &[(0, 9.0), (256, 8.0)], 22.0);
        let peer = record(Some("peer 1"), &[(0, 5.0), (256, 4.0)], 22.1);
        let c = by_depth(&[ours.clone(), peer]).unwrap();
        assert_eq!(c.lines.iter().filter(|l| l.limit).count(), 1);
        assert_eq!(
            (&c.lines[0].label[0][..], &c.lines[1].label[0][..]),
            ("Molten", "peer 1")
        );
        assert_eq!(c.x_ticks.len(), 2);
        let other = record(Some("peer 1"), &[(0, 5.0), (256, 4.0)], 40.0);
        let c = by_depth(&[ours, other]).unwrap();
        assert_eq!(c.lines.iter().filter(|l| l.limit).count(), 2);
    }

    #[test]
    fn nothing_to_draw_is_said() {
        assert!(picture(&[Record::default()]).is_err());
    }

    #[test]
    fn a_single_depth_is_drawn_too() {
        let svg = picture(&[record(None, &[(0, 9.0)], 22.0)]).unwrap();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"));
    }

    #[test]
    fn ticks_read_as_people_say_them() {
        assert_eq!(
            (tick(0), tick(256), tick(4096)),
            ("0".into(), "256".into(), "4 K".into())
        );
    }
}
