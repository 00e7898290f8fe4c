//! Kernel sources with the model's shapes baked in.

use std::fmt::Write as _;

use engine::{Error, PAGE, Result};
use lfm2::config::{Config, LayerKind};

/// Rows of the conv ring: what two launches and a chunk can write, plus a window, fits twice over.
pub const RING: usize = 256;
/// Tokens decoded by one launch chain.
pub const LAUNCH: usize = 32;

const COMMON: &str = include_str!("../kernels/common.cuh");

/// Name, text and entry points of each kernel file.
type File = (&'static str, &'static str, &'static [&'static str]);

const FILES: [File; 7] = [
    (
        "control.cu",
        include_str!("../kernels/control.cu"),
        &["begin", "advance"],
    ),
    ("embed.cu", include_str!("../kernels/embed.cu"), &["embed"]),
    ("norm.cu", include_str!("../kernels/norm.cu"), &["rms_norm"]),
    (
        "linear.cu",
        include_str!("../kernels/linear.cu"),
        &[
            "conv_in",
            "conv_out_add",
            "project_q",
            "project_kv",
            "attention_out_add",
            "ffn_up",
            "ffn_down_add",
            "head",
            "swiglu",
        ],
    ),
    (
        "conv.cu",
        include_str!("../kernels/conv.cu"),
        &["conv", "restore"],
    ),
    (
        "attention.cu",
        include_str!("../kernels/attention.cu"),
        &["rotate", "attend"],
    ),
    (
        "sample.cu",
        include_str!("../kernels/sample.cu"),
        &["sample"],
    ),
];

const MOE: File = (
    "moe.cu",
    include_str!("../kernels/moe.cu"),
    &["router", "route", "experts_up", "experts_down_add"],
);

/// One compilable program.
#[derive(Debug, Clone)]
pub struct Source {
    /// The kernel file's name, for messages.
    pub name: &'static str,
    /// Its text, shapes and shared part in front.
    pub text: String,
    /// Its entry points.
    pub kernels: &'static [&'static str],
}

/// Elements of the sorting scratch: the power of two not below the vocabulary.
pub fn sort_len(c: &Config) -> usize {
    c.vocab_size.next_power_of_two()
}

/// The programs for a model with room for `context` tokens.
///
/// # Errors
/// When the model's shapes are outside what the kernels were written for.
pub fn sources(c: &Config, context: usize) -> Result<Vec<Source>> {
    check(c)?;
    let mut head = String::new();
    let mut define = |name: &str, value: String| {
        let _ = writeln!(head, "#define {name} {value}");
    };
    for (name, value) in [
        ("PAGE", PAGE),
        ("RING", RING),
        ("CONTEXT", context.next_multiple_of(PAGE)),
        ("VOCAB", c.vocab_size),
        ("SORT", sort_len(c)),
        ("HIDDEN", c.hidden_size),
        ("HEADS", c.heads),
        ("KV_HEADS", c.kv_heads),
        ("HEAD_DIM", c.head_dim),
        ("TAPS", c.conv_kernel),
        ("FFN", c.ffn_size),
        ("CONVS", c.count_layers(LayerKind::Conv)),
        ("ATTENTIONS", c.count_layers(LayerKind::Attention)),
    ] {
        define(name, value.to_string());
    }
    define("EPS", format!("{:e}f", c.norm_eps));
    define("ROPE_THETA", format!("{:e}", c.rope_theta));
    let mut files: Vec<&File> = FILES.iter().collect();
    if let Some(m) = &c.moe {
        for (name, value) in [
            ("EXPERTS", m.experts),
            ("CHOSEN", m.experts_per_token),
            ("WIDTH", m.width),
            ("NORM_ROUTES", usize::from(m.norm_topk_prob)),
        ] {
            define(name, value.to_string());
        }
        define("ROUTE_SCALE", format!("{:e}f", m.routed_scaling_factor));
        files.push(&MOE);
    }
    Ok(files
        .into_iter()
        .map(|(name, text, kernels)| Source {
            name,
            text: format!("{head}{COMMON}\n#line 1 \"{name}\"\n{text}"),
            kernels,
        })
        .collect())
}

fn check(c: &Config) -> Result<()> {
    let limits = [
        ("conv_L_cache", c.conv_kernel, 64),
        ("head_dim", c.head_dim, 1024),
        ("num_experts", c.moe.as_ref().map_or(0, |m| m.experts), 256),
        ("vocab_size", c.vocab_size, 1 << 20),
    ];
    for (name, value, most) in limits {
        if value > most {
            return Err(Error::Input(format!(
                "{name} is {value}; the cuda backend runs up to {most}"
            )));
        }
    }
    Ok(())
}
