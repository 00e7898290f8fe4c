//! `molten inspect`: what a model is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use lfm2::shapes::Storage;
use lfm2::weights::WeightSource;
use lfm2::{LayerKind, TensorId};
use serde_json::json;

use crate::Outcome;
use crate::args::{Inspect, ModelArgs};
use crate::loaded::Files;
use crate::settings::Settings;

/// Bytes as the file stores them.
pub(crate) struct Stored<'a>(pub(crate) &'a dyn WeightSource);

impl Storage for Stored<'_> {
    fn bytes(&self, id: TensorId, rows: usize, cols: usize) -> f64 {
        self.0
            .tensor(id)
            .map_or(4.0 * rows as f64 * cols as f64, |t| t.stored_bytes() as f64)
    }
}

pub(crate) fn run(args: &Inspect) -> Outcome {
    let settings = Settings::new(&ModelArgs::default())?;
    let name = args.model.as_deref().or(settings.model.value.as_deref());
    let files = Files::open(name, &settings)?;
    let text = if args.json {
        as_json(&files, args)
    } else {
        as_text(&files, args)?
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// How many weights of each storage type, most first.
pub(crate) fn types(source: &dyn WeightSource) -> Result<Vec<(String, u64)>, lfm2::Error> {
    let mut types: BTreeMap<String, u64> = BTreeMap::new();
    for id in TensorId::all(source.config()) {
        let t = source.tensor(id)?;
        *types.entry(t.type_name()).or_default() += (t.rows * t.cols) as u64;
    }
    let mut types: Vec<_> = types.into_iter().collect();
    types.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    Ok(types)
}

fn as_json(files: &Files, args: &Inspect) -> String {
    let source = files.opened.weights();
    let c = source.config();
    let per_token: Vec<_> = args
        .contexts
        .iter()
        .map(|n| {
            let b = c.bytes_per_token(&Stored(source), *n);
            let parts: serde_json::Map<_, _> = b
                .parts()
                .iter()
                .map(|(k, v)| ((*k).to_owned(), json!(v.round() as u64)))
                .collect();
            json!({"depth": n, "bytes": b.total().round() as u64, "parts": parts})
        })
        .collect();
    let kinds: Vec<&str> = c
        .layers
        .iter()
        .map(|k| {
            if *k == LayerKind::Conv {
                "conv"
            } else {
                "attention"
            }
        })
        .collect();
    let tensors: Vec<_> = source
        .entries()
        .iter()
        .map(|e| json!({"name": e.name, "shape": e.shape, "type": e.dtype, "bytes": e.bytes, "offset": e.offset}))
        .collect();
    let types: serde_json::Map<_, _> = types(source)
        .unwrap_or_default()
        .into_iter()
        .map(|(k, n)| (k, json!(n)))
        .collect();
    let v = json!({
        "name": files.name,
        "format": source.format().name(),
        "architecture": if c.moe.is_some() { "lfm2_moe" } else { "lfm2" },
        "parameters": c.parameters(),
        "active_parameters": c.active_parameters(),
        "layers": kinds,
        "quantisation": types,
        "bytes_per_token": per_token,
        "config": c.to_json(),
        "tensors": tensors,
    });
    format!("{v:#}\n")
}

fn as_text(files: &Files, args: &Inspect) -> Result<String, lfm2::Error> {
    let source = files.opened.weights();
    let c = source.config();
    let mut s = String::new();
    let mut line = |k: &str, v: String| {
        let _ = writeln!(s, "{k:<18} {v}");
    };
    line(
        "model",
        format!("{} ({})", files.name, source.format().name()),
    );
    line(
        "parameters",
        format!(
            "{}, {} active per token",
            grouped(c.parameters()),
            grouped(c.active_parameters())
        ),
    );
    let pattern: String = c
        .layers
        .iter()
        .map(|k| if *k == LayerKind::Conv { 'c' } else { 'A' })
        .collect();
    line(
        "layers",
        format!(
            "{}: {} conv (c), {} attention (A)  {pattern}",
            c.layers.len(),
            c.count_layers(LayerKind::Conv),
            c.count_layers(LayerKind::Attention)
        ),
    );
    line(
        "hidden",
        format!("{}, vocabulary {}", c.hidden_size, c.vocab_size),
    );
    line(
        "attention",
        format!(
            "{} heads of {}, {} key/value heads, theta {:e}",
            c.heads, c.head_dim, c.kv_heads, c.rope_theta
        ),
    );
    line(
        "feed-forward",
        match &c.moe {
            None => format!("dense, width {}", c.ffn_size),
            Some(m) => format!(
                "{} experts of width {}, {} per token; first {} layers dense, width {}",
                m.experts, m.width, m.experts_per_token, m.dense_layers, c.ffn_size
            ),
        },
    );
    line("context", format!("{} positions", c.max_positions));
    let all = c.parameters() as f64;
    let kinds: Vec<String> = types(source)?
        .into_iter()
        .map(|(k, n)| format!("{k} {:.1} %", 100.0 * n as f64 / all))
        .collect();
    line("storage", kinds.join(", "));
    let bytes: u64 = source.entries().iter().map(|e| e.bytes).sum();
    line(
        "size",
        format!(
            "{:.3} GB, {:.2} bits per weight",
            bytes as f64 / 1e9,
            8.0 * bytes as f64 / all
        ),
    );
    let _ = writeln!(s, "\nBytes moved per decoded token (MB)");
    let tables: Vec<_> = args
        .contexts
        .iter()
        .map(|n| c.bytes_per_token(&Stored(source), *n))
        .collect();
    let _ = write!(s, "{:<12}", "context");
    args.contexts.iter().for_each(|n| {
        let _ = write!(s, "{n:>10}");
    });
    let rows = tables.first().map_or(0, |t| t.parts().len());
    for i in 0..rows {
        let _ = write!(s, "\n{:<12}", tables[0].parts()[i].0);
        for t in &tables {
            let _ = write!(s, "{:>10.2}", t.parts()[i].1 / 1e6);
        }
    }
    let _ = write!(s, "\n{:<12}", "together");
    for t in &tables {
        let _ = write!(s, "{:>10.2}", t.total() / 1e6);
    }
    s.push('\n');
    if args.tensors {
        let _ = writeln!(s, "\n{:<58} {:>6} {:>12}  shape", "tensor", "type", "bytes");
        for e in source.entries() {
            let _ = writeln!(
                s,
                "{:<58} {:>6} {:>12}  {:?}",
                e.name, e.dtype, e.bytes, e.shape
            );
        }
    }
    Ok(s)
}

/// Digits in groups of three.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, d) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(d);
    }
    out
}
