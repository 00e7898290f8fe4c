//! The released members of the family, by name: for synthetic models and for arithmetic without files.
//!
//! Sources: the checkpoints' `config.json` where public; the attention positions and the dense width of
//! the 24B are derived (its published parameter count fixes the width exactly).

use crate::config::{Config, LayerKind, MoeConfig};

/// Names [`preset`] knows.
pub const NAMES: [&str; 10] = [
    "lfm2-350m",
    "lfm2-700m",
    "lfm2-1.2b",
    "lfm2-2.6b",
    "lfm2.5-1.2b",
    "lfm2.5-2.6b",
    "lfm2-8b-a1b",
    "lfm2.5-8b-a1b",
    "lfm2-24b-a2b",
    "lfm2.5-24b-a2b",
];

/// Attention layers of the 16-layer dense members.
const ATTN_16: &[usize] = &[2, 5, 8, 10, 12, 14];
/// Attention layers of the 30-layer dense members.
const ATTN_30: &[usize] = &[2, 5, 9, 13, 17, 21, 24, 27];
/// Attention layers of the 24-layer mixture of experts.
const ATTN_24: &[usize] = &[2, 6, 10, 14, 18, 21];
/// Attention layers of the 40-layer mixture of experts.
const ATTN_40: &[usize] = &[2, 6, 10, 14, 18, 22, 26, 30, 34, 38];

/// The configuration of a released member, or `None` for an unknown name (case is ignored).
pub fn preset(name: &str) -> Option<Config> {
    let name = name.to_ascii_lowercase();
    let mut c = match name.as_str() {
        "lfm2-350m" => dense(1024, 16, ATTN_16, 16, 4608),
        "lfm2-700m" => dense(1536, 16, ATTN_16, 24, 6912),
        "lfm2-1.2b" | "lfm2.5-1.2b" => dense(2048, 16, ATTN_16, 32, 8192),
        "lfm2-2.6b" => dense(2048, 30, ATTN_30, 32, 10752),
        "lfm2.5-2.6b" => Config {
            rope_theta: 1e7,
            max_positions: 131_072,
            ..dense(2048, 30, ATTN_30, 32, 10752)
        },
        "lfm2-8b-a1b" => moe(24, ATTN_24, 7168, 32, 1792),
        "lfm2.5-8b-a1b" => Config {
            rope_theta: 5e6,
            ..moe(24, ATTN_24, 7168, 32, 1792)
        },
        "lfm2-24b-a2b" | "lfm2.5-24b-a2b" => moe(40, ATTN_40, 11776, 64, 1536),
        _ => return None,
    };
    if matches!(
        name.as_str(),
        "lfm2.5-2.6b" | "lfm2.5-8b-a1b" | "lfm2.5-24b-a2b"
    ) {
        c.vocab_size = 128_000;
        (c.bos_token, c.eos_token, c.pad_token) = (124_894, 124_900, 124_893);
    }
    Some(c)
}

fn dense(hidden: usize, n: usize, attn: &[usize], heads: usize, ffn: usize) -> Config {
    let mut layers = vec![LayerKind::Conv; n];
    for &i in attn {
        layers[i] = LayerKind::Attention;
    }
    Config {
        vocab_size: 65_536,
        hidden_size: hidden,
        layers,
        heads,
        kv_heads: 8,
        head_dim: hidden / heads,
        ffn_size: ffn,
        conv_kernel: 3,
        norm_eps: 1e-5,
        rope_theta: 1e6,
        max_positions: 128_000,
        bos_token: 1,
        eos_token: 7,
        pad_token: 0,
        moe: None,
        quantization: None,
    }
}

fn moe(n: usize, attn: &[usize], ffn: usize, experts: usize, width: usize) -> Config {
    Config {
        moe: Some(MoeConfig {
            dense_layers: 2,
            experts,
            experts_per_token: 4,
            width,
            use_expert_bias: true,
            norm_topk_prob: true,
            routed_scaling_factor: 1.0,
        }),
        ..dense(2048, n, attn, 32, ffn)
    }
}
