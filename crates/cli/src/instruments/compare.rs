//! Two results side by side.

use std::fmt::Write as _;

use super::record::Record;

/// What makes two results hard to compare: a sentence each.
pub(crate) fn differences(a: &Record, b: &Record) -> Vec<String> {
    let text = |v: &Option<String>| v.clone().unwrap_or_else(|| "unknown".to_owned());
    let threads = |r: &Record| {
        r.device
            .threads
            .map_or_else(|| "unknown".to_owned(), |n| n.to_string())
    };
    let mut found = Vec::new();
    let mut check = |what: &str, x: String, y: String| {
        if x != y {
            found.push(format!("{what} differs: {x} and {y}"));
        }
    };
    check("engine", a.engine().to_owned(), b.engine().to_owned());
    check("device", a.device.name.clone(), b.device.name.clone());
    check("threads", threads(a), threads(b));
    check("instruction set", text(&a.device.isa), text(&b.device.isa));
    check("model", a.model.name.clone(), b.model.name.clone());
    check("format", a.model.format.clone(), b.model.format.clone());
    check("weights", text(&a.model.hash), text(&b.model.hash));
    check("commit", text(&a.commit), text(&b.commit));
    check("precision", text(&a.precision), text(&b.precision));
    check("day", day(a), day(b));
    for (name, r) in [("the first", a), ("the second", b)] {
        if r.correct == Some(false) {
            found.push(format!("{name} failed its correctness check"));
        }
        for note in r.machine.iter().flat_map(|m| &m.notes) {
            found.push(format!("{name}: {note}"));
        }
    }
    found
}

fn day(r: &Record) -> String {
    r.date.get(..10).unwrap_or("unknown").to_owned()
}

/// A line a figure that both have: speeds, and their ratio (first over second).
pub(crate) fn table(a: &Record, b: &Record) -> String {
    let mut t = format!(
        "{:<10}{:>7}{:>7}{:>12}{:>12}{:>9}{:>10}{:>10}\n",
        "figure", "depth", "tokens", "A", "B", "A/B", "A of cl.", "B of cl."
    );
    let share =
        |s: Option<f64>| s.map_or_else(|| "-".to_owned(), |s| format!("{:.0} %", 100.0 * s));
    let mut rows = 0;
    for x in &a.runs {
        let Some(y) = b.find(&x.kind, x.depth) else {
            continue;
        };
        rows += 1;
        let note = if x.tokens == y.tokens { "" } else { "*" };
        let _ = writeln!(
            t,
            "{:<10}{:>7}{:>7}{:>12.2}{:>12.2}{:>9}{:>10}{:>10}",
            x.kind,
            x.depth,
            format!("{}{note}", x.tokens),
            x.tok_s,
            y.tok_s,
            if y.tok_s > 0.0 {
                format!("{:.3}", x.tok_s / y.tok_s)
            } else {
                "-".to_owned()
            },
            share(x.share_of_ceiling),
            share(y.share_of_ceiling)
        );
    }
    if rows == 0 {
        return "the two have no figure in common\n".to_owned();
    }
    t += "tok/s; of cl.: share of the ceiling measured in the same run";
    t += if t.contains('*') {
        "\n* the two differ in tokens\n"
    } else {
        "\n"
    };
    t
}

#[cfg(test)]
mod tests {
    use super::super::record::Run;
    use super::*;

    fn record(tok: &[(usize, f64)]) -> Record {
        Record {
            runs: tok
                .iter()
                .map(|(d, s)| Run::new("decode", *d, 64, vec![*s]))
                .collect(),
            ..Record::default()
        }
    }

    #[test]
    fn ratios_of_what_both_have() {
        let t = table(
            &record(&[(0, 1.0), (256, 2.0)]),
            &record(&[(0, 2.0), (512, 1.0)]),
        );
        assert!(t.contains("64.00       32.00    2.000"), "{t}");
        assert_eq!(t.lines().count(), 3, "{t}");
        assert!(t.lines().all(|l| l.chars().count() <= 80), "{t}");
        let none = table(&record(&[(0, 1.0)]), &record(&[(1, 1.0)]));
        assert!(none.contains("no figure in common"));
    }

    #[test]
    fn differences_are_named() {
        let a = record(&[(0, 1.0)]);
        let mut b = a.clone();
        assert!(differences(&a, &b).is_empty());
        b.precision = Some("int8".into());
        b.device.name = "other".into();
        let d = differences(&a, &b);
        assert_eq!(d.len(), 2, "{d:?}");
        assert!(d[1].contains("unknown and int8"), "{d:?}");
    }
}
