//! A result as a person reads it.

use std::fmt::Write as _;

use crate::instruments::record::{Record, Run};

/// The whole result, within 80 columns.
pub(super) fn text(r: &Record) -> String {
    let d = &r.device;
    let mut t = String::new();
    let mut line = |k: &str, v: String| {
        let _ = writeln!(t, "{k:<10}{v}");
    };
    let bits = r
        .model
        .bits
        .map_or_else(String::new, |b| format!(", {b:.2} bits a weight"));
    line(
        "model",
        format!("{}, {}{bits}", r.model.name, r.model.format),
    );
    line(
        "device",
        format!(
            "{} ({}, {})",
            d.name,
            d.kind,
            d.isa.as_deref().unwrap_or("unknown")
        ),
    );
    let threads = d
        .threads
        .map_or_else(String::new, |n| format!("{n} threads, "));
    line(
        "setting",
        format!(
            "{threads}precision {}",
            r.precision.as_deref().unwrap_or("unknown")
        ),
    );
    let mut limits = Vec::new();
    limits.extend(r.bandwidth_gb_s.map(|b| format!("reads {b:.1} GB/s")));
    limits.extend(
        r.integer_gop_s
            .map(|g| format!("{g:.0} integer GOP/s at most")),
    );
    line("limits", limits.join(", "));
    for (i, c) in r.check.iter().flat_map(|c| c.split("; ")).enumerate() {
        line(if i == 0 { "checked" } else { "" }, c.to_owned());
    }
    t.push('\n');
    let _ = writeln!(
        t,
        "{:<10}{:>7}{:>8}{:>11}{:>11}{:>9}{:>13}{:>8}",
        "figure", "depth", "tokens", "tok/s", "seconds", "spread", "ceiling", "share"
    );
    let mut notes: Vec<String> = Vec::new();
    for run in &r.runs {
        t += &row(run);
        if let Some(n) = &run.note
            && !notes.contains(n)
        {
            notes.push(n.clone());
        }
    }
    if let Some(p) = r.peak_rss_bytes {
        let _ = write!(t, "\npeak memory {:.1} MB", p as f64 / 1e6);
    }
    let n = r.runs.iter().map(|r| r.median_of).max().unwrap_or(0);
    let _ = writeln!(
        t,
        "\nmedians of up to {n}; spread: slowest minus fastest, of the median"
    );
    for n in notes {
        let _ = writeln!(t, "note: {n}");
    }
    for n in r.machine.iter().flat_map(|m| &m.notes) {
        let _ = writeln!(t, "warning: {n}");
    }
    t
}

fn row(r: &Run) -> String {
    // The speed of a start says nothing; its time does.
    let speed = if r.kind == "start" {
        "-".to_owned()
    } else {
        format!("{:.2}", r.tok_s)
    };
    let dash = || "-".to_owned();
    format!(
        "{:<10}{:>7}{:>8}{speed:>11}{:>11.4}{:>7.1} %{:>13}{:>8}\n",
        r.kind,
        r.depth,
        r.tokens,
        r.seconds,
        100.0 * r.spread,
        match (r.ceiling_tok_s, r.bound.as_deref()) {
            (Some(c), Some("compute")) => format!("{c:.1} c"),
            (Some(c), _) => format!("{c:.1} m"),
            (None, _) => dash(),
        },
        r.share_of_ceiling
            .map_or_else(dash, |s| format!("{:.0} %", 100.0 * s))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fit_a_terminal() {
        let r = Run::new("sustained", 131_072, 4096, vec![0.123, 12345.0]).under(1234.5, "memory");
        assert!(row(&r).trim_end().chars().count() <= 80, "{}", row(&r));
    }
}
