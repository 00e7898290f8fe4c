//! `molten roofline`: bandwidth over bytes per token, part by part.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};

use lfm2::shapes::{Scheme, TokenBytes};
use serde_json::json;

use crate::args::{ModelArgs, NominalFormat, Roofline};
use crate::instruments::device::{Row, rows};
use crate::instruments::subject::Subject;
use crate::settings::Settings;
use crate::{Failure, Outcome};

/// Columns of a full bar.
const BAR: usize = 36;

/// The answer: devices, and bytes at each context.
struct Answer<'a> {
    subject: &'a Subject,
    devices: &'a [Row],
    contexts: Vec<(usize, TokenBytes)>,
    target: Option<f64>,
}

pub(crate) fn run(args: &Roofline) -> Outcome {
    let settings = Settings::new(&ModelArgs {
        threads: args.threads,
        ..ModelArgs::default()
    })?;
    let name = args.model.as_deref().or(settings.model.value.as_deref());
    let subject = Subject::for_arithmetic(name, scheme(args), &settings)?;
    if args.contexts.is_empty() {
        return Err(Failure::Usage(
            "--contexts is empty; give at least one".to_owned(),
        ));
    }
    let devices = rows(&settings, args.bandwidth);
    let answer = Answer {
        contexts: args
            .contexts
            .iter()
            .map(|n| (*n, subject.token_bytes(*n)))
            .collect(),
        subject: &subject,
        devices: &devices,
        target: args.target,
    };
    let text = if args.json {
        answer.json()
    } else {
        answer.text(std::io::stdout().is_terminal())
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn scheme(args: &Roofline) -> Option<Scheme> {
    if let Some(bits) = args.bits {
        return Some(Scheme::Mlx { bits, group: 64 });
    }
    args.format.map(|f| match f {
        NominalFormat::Mlx4 => Scheme::Mlx { bits: 4, group: 64 },
        NominalFormat::Mlx8 => Scheme::Mlx { bits: 8, group: 64 },
        NominalFormat::Bf16 => Scheme::Bf16,
        NominalFormat::F32 => Scheme::F32,
        NominalFormat::Q4_0 => Scheme::Q4_0,
        NominalFormat::Q8_0 => Scheme::Q8_0,
    })
}

/// Tokens a second that `gb_s` allow when a token moves `bytes`.
pub(crate) fn ceiling(gb_s: f64, bytes: f64) -> f64 {
    gb_s * 1e9 / bytes.max(1.0)
}

/// What a speed takes at one context.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Needs {
    /// GB/s.
    bandwidth: f64,
    /// Bits a weight on a given bandwidth; `None` when keys, values and state alone are too much.
    bits: Option<f64>,
}

/// `bits` is what a weight takes now; weights shrink together, keys, values and state do not.
fn needs(target: f64, b: &TokenBytes, bits: f64, gb_s: f64) -> Needs {
    let budget = gb_s * 1e9 / target - b.kv - b.state;
    let weights = b.total() - b.kv - b.state;
    Needs {
        bandwidth: target * b.total() / 1e9,
        bits: (budget > 0.0).then(|| bits * budget / weights.max(1.0)),
    }
}

impl Answer<'_> {
    fn fastest(&self) -> f64 {
        self.devices.iter().map(|d| d.read_gb_s).fold(0.0, f64::max)
    }

    fn json(&self) -> String {
        let s = self.subject;
        let devices: Vec<_> = self
            .devices
            .iter()
            .map(|d| {
                let threads: Vec<_> = d
                    .by_threads
                    .iter()
                    .map(|r| json!({"threads": r.threads, "median_gb_s": r.median(), "best_gb_s": r.best()}))
                    .collect();
                let ceilings: Vec<_> = self
                    .contexts
                    .iter()
                    .map(|(_, b)| ceiling(d.read_gb_s, b.total()))
                    .collect();
                json!({"name": d.name, "kind": d.kind, "isa": d.isa, "read_gb_s": d.read_gb_s,
                       "best_gb_s": d.best_gb_s, "by_threads": threads, "ceilings_tok_s": ceilings})
            })
            .collect();
        let contexts: Vec<_> = self
            .contexts
            .iter()
            .map(|(n, b)| {
                let parts: serde_json::Map<_, _> = b
                    .parts()
                    .iter()
                    .map(|(k, v)| ((*k).to_owned(), json!(v.round() as u64)))
                    .collect();
                let mut row = json!({"depth": n, "bytes_per_token": b.total().round() as u64, "parts": parts,
                                     "ceiling_tok_s": ceiling(self.fastest(), b.total())});
                if let Some(t) = self.target {
                    let need = needs(t, b, s.bits(), self.fastest());
                    row["target"] = json!({"tok_s": t, "needs_gb_s": need.bandwidth, "needs_bits": need.bits});
                }
                row
            })
            .collect();
        let v = json!({
            "devices": devices, "model": s.name, "format": s.format, "bits": s.bits(),
            "formula": "ceiling_tok_s = read_gb_s * 1e9 / bytes_per_token", "contexts": contexts,
        });
        format!("{v:#}\n")
    }

    fn text(&self, bars: bool) -> String {
        let s = self.subject;
        let mut t = format!(
            "model    {}, {}, {:.2} bits a weight\n",
            s.name,
            s.format,
            s.bits()
        );
        for d in self.devices {
            t += &device_line(d);
        }
        let fastest = self.fastest();
        t += "\nceiling = read bandwidth / bytes one decoded token must move (batch 1)\n\n";
        let _ = writeln!(
            t,
            "{:>9}{:>12}{:>10}{:>13}",
            "context", "MB a token", "of it KV", "ceiling"
        );
        for (n, b) in &self.contexts {
            let _ = writeln!(
                t,
                "{n:>9}{:>12.2}{:>8.1} %{:>7.1} tok/s",
                b.total() / 1e6,
                100.0 * b.kv / b.total(),
                ceiling(fastest, b.total())
            );
        }
        let shown = match &self.contexts[..] {
            [first, .., last] if first.0 != last.0 => vec![first, last],
            [first, ..] => vec![first],
            [] => Vec::new(),
        };
        for (n, b) in shown {
            let _ = write!(
                t,
                "\nWhat a token reads after {n} positions\n{}",
                parts(b, bars)
            );
        }
        if let Some(target) = self.target {
            t += &self.target_text(target);
        }
        t += "\nLeft out: arithmetic, waiting between operators, caches that keep part of the\n\
              model, drafting (several tokens a pass), padding of a real layout. KV is\n\
              counted at 16 bits; the experts as an even router would choose them.\n";
        t
    }

    fn target_text(&self, target: f64) -> String {
        let fastest = self.fastest();
        let bits = self.subject.bits();
        let mut t = format!("\n{target} tok/s would take\n");
        let _ = writeln!(
            t,
            "{:>9}{:>16}   or, at {fastest:.1} GB/s",
            "context", "bandwidth"
        );
        for (n, b) in &self.contexts {
            let need = needs(target, b, bits, fastest);
            let or = match need.bits {
                Some(v) if v >= bits => {
                    format!("{bits:.2} bits a weight: it is within the ceiling")
                }
                Some(v) => format!("{v:.2} bits a weight instead of {bits:.2}"),
                None => "nothing: keys and values alone are too much".to_owned(),
            };
            let _ = writeln!(t, "{n:>9}{:>11.1} GB/s   {or}", need.bandwidth);
        }
        t
    }
}

fn device_line(d: &Row) -> String {
    if d.kind == "given" {
        return format!("device   {}\n", d.name);
    }
    let isa = d.isa.as_deref().unwrap_or("");
    let mut t = format!(
        "device   {} ({}, {isa}): {:.1} GB/s read, median; best {:.1}\n",
        d.name, d.kind, d.read_gb_s, d.best_gb_s
    );
    if d.by_threads.len() > 1 {
        let each: Vec<String> = d
            .by_threads
            .iter()
            .map(|r| format!("{} {:.1}", r.threads, r.median()))
            .collect();
        let _ = writeln!(t, "         by threads: {} GB/s", each.join(", "));
    }
    t
}

/// One line a part that is there, largest first, with a bar where asked.
fn parts(b: &TokenBytes, bars: bool) -> String {
    let all = b.total().max(1.0);
    let mut parts: Vec<_> = b.parts().into_iter().filter(|(_, v)| *v > 0.0).collect();
    parts.sort_by(|x, y| y.1.total_cmp(&x.1));
    let widest = parts.first().map_or(1.0, |p| p.1);
    let mut t = String::new();
    for (name, v) in parts {
        let _ = write!(
            t,
            "  {name:<11}{:>10.2} MB{:>7.1} %",
            v / 1e6,
            100.0 * v / all
        );
        if bars {
            let _ = write!(t, "  {}", bar(v / widest));
        }
        t.push('\n');
    }
    t
}

/// A bar in eighths of a column.
fn bar(share: f64) -> String {
    let eighths = (share * (8 * BAR) as f64).round() as usize;
    let mut s = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        s.push(['▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8 - 1]);
    }
    s
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes() -> TokenBytes {
        TokenBytes {
            experts: 700e6,
            head: 200e6,
            state: 1e6,
            kv: 99e6,
            ..TokenBytes::default()
        }
    }

    #[test]
    fn the_ceiling_is_the_quotient() {
        assert_eq!(ceiling(30.0, 1e9), 30.0);
        assert_eq!(ceiling(614.0, bytes().total()), 614.0);
    }

    #[test]
    fn a_target_takes_bandwidth_or_bits() {
        // 20 tok/s at 10 GB/s leave 500 MB a token, 400 MB of it for weights that take 900 now.
        let n = needs(20.0, &bytes(), 4.5, 10.0);
        assert!((n.bandwidth - 20.0).abs() < 1e-9);
        assert!((n.bits.unwrap() - 2.0).abs() < 1e-9);
        // 200 tok/s leave 50 MB: less than the keys and values.
        assert_eq!(needs(200.0, &bytes(), 4.5, 10.0).bits, None);
    }

    #[test]
    fn parts_fit_a_terminal() {
        let t = parts(&bytes(), true);
        assert!(t.lines().all(|l| l.chars().count() <= 80), "{t}");
        assert!(t.starts_with("  experts") && !t.contains("router"), "{t}");
        assert!(!parts(&bytes(), false).contains('█'));
        assert_eq!(bar(1.0).chars().count(), BAR);
        assert_eq!(bar(0.0), "");
    }
}
