//! Small configurations for tests of weight files.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses its own part"
)]

use lfm2::quant::FloatType;
use lfm2::write::{Mix, Target};
use lfm2::{Config, LayerKind, MoeConfig, config::Quantization, config::QuantizationConfig};

/// Dense; every row a multiple of 256, so that all formats fit.
pub fn dense() -> Config {
    Config {
        vocab_size: 512,
        hidden_size: 256,
        layers: vec![
            LayerKind::Conv,
            LayerKind::Conv,
            LayerKind::Attention,
            LayerKind::Conv,
        ],
        heads: 4,
        kv_heads: 2,
        head_dim: 64,
        ffn_size: 512,
        conv_kernel: 3,
        norm_eps: 1e-5,
        rope_theta: 1e6,
        max_positions: 4096,
        bos_token: 1,
        eos_token: 7,
        pad_token: 0,
        moe: None,
        quantization: None,
    }
}

/// The same as a mixture of experts.
pub fn moe() -> Config {
    Config {
        moe: Some(MoeConfig {
            dense_layers: 1,
            experts: 8,
            experts_per_token: 4,
            width: 256,
            use_expert_bias: true,
            norm_topk_prob: true,
            routed_scaling_factor: 1.0,
        }),
        ..dense()
    }
}

/// Every form a model can be written in, by name.
pub fn targets(c: &Config) -> Vec<(String, Target)> {
    let mut all = Vec::new();
    for (name, float) in [
        ("f32", FloatType::F32),
        ("f16", FloatType::F16),
        ("bf16", FloatType::Bf16),
    ] {
        let shard_bytes = None;
        all.push((
            format!("hf-{name}"),
            Target::HuggingFace { float, shard_bytes },
        ));
    }
    let float = FloatType::Bf16;
    let shard_bytes = Some(700_000);
    all.push((
        "hf-sharded".into(),
        Target::HuggingFace { float, shard_bytes },
    ));
    for bits in [4, 8] {
        for group in [32, 64, 128] {
            all.push((format!("mlx-{bits}-g{group}"), Target::mlx(c, bits, group)));
        }
    }
    all.push(("mlx-mixed".into(), mixed(c)));
    for mix in Mix::ALL {
        all.push((format!("gguf-{}", mix.name()), Target::Gguf(mix)));
    }
    all
}

/// Some modules at 8 bits, some unquantised, scales in half precision.
fn mixed(c: &Config) -> Target {
    let q = |bits, group| Some(Quantization { bits, group });
    let mut quantization = QuantizationConfig {
        default: Quantization { bits: 4, group: 32 },
        modules: vec![
            ("model.embed_tokens".into(), q(8, 128)),
            ("model.layers.0.conv.in_proj".into(), None),
            ("model.layers.2.self_attn.v_proj".into(), q(8, 64)),
        ],
    };
    if c.moe.is_some() {
        quantization.modules.extend([
            ("model.layers.1.feed_forward.gate".into(), q(8, 64)),
            ("model.layers.2.feed_forward.gate".into(), None),
            (
                "model.layers.1.feed_forward.switch_mlp.down_proj".into(),
                q(4, 128),
            ),
            (
                "model.layers.3.feed_forward.switch_mlp.up_proj".into(),
                None,
            ),
        ]);
    }
    Target::Mlx {
        quantization,
        float: FloatType::F16,
    }
}
