//! Every member of the family, in both generations of field names and as GGUF metadata; the published
//! parameter counts and the bytes per token they imply.

use lfm2::config::gguf::TensorFacts;
use lfm2::gguf::{Metadata, Value};
use lfm2::shapes::Scheme;
use lfm2::{Config, LayerKind, family};
use serde_json::json;

/// `(name, parameters, active parameters)` as published, or as computed from the published shapes.
const COUNTS: [(&str, u64, u64); 9] = [
    ("lfm2-350m", 354_483_968, 354_483_968),
    ("lfm2-700m", 742_489_344, 742_489_344),
    ("lfm2-1.2b", 1_170_340_608, 1_170_340_608),
    ("lfm2-2.6b", 2_569_272_320, 2_569_272_320),
    ("lfm2.5-2.6b", 2_697_198_592, 2_697_198_592),
    ("lfm2-8b-a1b", 8_339_930_560, 1_557_740_992),
    ("lfm2.5-8b-a1b", 8_467_856_832, 1_685_667_264),
    ("lfm2-24b-a2b", 23_843_661_440, 2_326_881_920),
    ("lfm2.5-24b-a2b", 23_971_587_712, 2_454_808_192),
];

fn preset(name: &str) -> Config {
    family::preset(name).expect(name)
}

#[test]
fn parameter_counts() {
    for (name, total, active) in COUNTS {
        let c = preset(name);
        assert_eq!(c.parameters(), total, "{name}");
        assert_eq!(c.active_parameters(), active, "{name}");
    }
}

/// The older dense files: `full_attn_idxs`, `block_ff_dim` before adjustment, flat `rope_theta`.
fn old_style(name: &str, unadjusted: usize, adjust: bool) -> serde_json::Value {
    let c = preset(name);
    let attn: Vec<usize> = (0..c.layers.len())
        .filter(|i| c.layers[*i] == LayerKind::Attention)
        .collect();
    json!({
        "architectures": ["Lfm2ForCausalLM"], "model_type": "lfm2",
        "block_auto_adjust_ff_dim": adjust, "block_dim": c.hidden_size, "block_ff_dim": unadjusted,
        "block_ffn_dim_multiplier": 1.0, "block_mlp_init_scale": 1.0, "block_multiple_of": 256,
        "block_norm_eps": 1e-5, "block_use_swiglu": true, "bos_token_id": c.bos_token,
        "conv_L_cache": 3, "conv_bias": false, "conv_dim": c.hidden_size, "eos_token_id": c.eos_token,
        "full_attn_idxs": attn, "hidden_size": c.hidden_size, "max_position_embeddings": c.max_positions,
        "norm_eps": 1e-5, "num_attention_heads": c.heads, "num_heads": c.heads,
        "num_hidden_layers": c.layers.len(), "num_key_value_heads": 8, "pad_token_id": c.pad_token,
        "rope_theta": c.rope_theta, "tie_embedding": true, "torch_dtype": "bfloat16",
        "use_pos_enc": true, "vocab_size": c.vocab_size
    })
}

fn parse(v: &serde_json::Value) -> Result<Config, String> {
    Config::from_json(v.to_string().as_bytes(), "config.json").map_err(|e| e.to_string())
}

#[test]
fn old_field_names() {
    for (name, unadjusted, adjust) in [
        ("lfm2-350m", 6656, true),
        ("lfm2-700m", 10240, true),
        ("lfm2-1.2b", 12288, true),
        ("lfm2-2.6b", 10752, false),
        ("lfm2.5-2.6b", 10752, false),
    ] {
        assert_eq!(
            parse(&old_style(name, unadjusted, adjust)).unwrap(),
            preset(name),
            "{name}"
        );
    }
}

#[test]
fn new_field_names_round_trip() {
    for name in family::NAMES {
        let c = preset(name);
        assert_eq!(parse(&c.to_json()).unwrap(), c, "{name}");
    }
}

#[test]
fn nested_rope_theta_wins() {
    let mut v = preset("lfm2.5-8b-a1b").to_json();
    v["rope_theta"] = json!(1e6);
    v["rope_parameters"] = json!({"rope_type": "default", "rope_theta": 5e6});
    assert_eq!(parse(&v).unwrap().rope_theta, 5e6);
}

fn metadata(c: &Config) -> Metadata {
    let arch = if c.moe.is_some() { "lfm2moe" } else { "lfm2" };
    let u = |v: usize| Value::Unsigned(v as u64);
    let k = |s: &str| format!("{arch}.{s}");
    let kv = c
        .layers
        .iter()
        .map(|l| {
            if *l == LayerKind::Conv {
                0
            } else {
                c.kv_heads as i64
            }
        })
        .collect();
    let mut entries = vec![
        (
            "general.architecture".to_owned(),
            Value::String(arch.to_owned()),
        ),
        (k("block_count"), u(c.layers.len())),
        (k("context_length"), u(c.max_positions)),
        (k("embedding_length"), u(c.hidden_size)),
        (k("feed_forward_length"), u(c.ffn_size)),
        (k("attention.head_count"), u(c.heads)),
        (k("attention.head_count_kv"), Value::Integers(kv)),
        (
            k("attention.layer_norm_rms_epsilon"),
            Value::Float(f64::from(c.norm_eps)),
        ),
        (k("rope.freq_base"), Value::Float(c.rope_theta)),
        (k("vocab_size"), u(c.vocab_size)),
        (k("shortconv.l_cache"), u(3)),
        (
            "tokenizer.ggml.bos_token_id".to_owned(),
            u(c.bos_token as usize),
        ),
        (
            "tokenizer.ggml.eos_token_id".to_owned(),
            u(c.eos_token as usize),
        ),
        (
            "tokenizer.ggml.padding_token_id".to_owned(),
            u(c.pad_token as usize),
        ),
    ];
    if let Some(m) = &c.moe {
        entries.extend([
            (k("expert_count"), u(m.experts)),
            (k("expert_used_count"), u(m.experts_per_token)),
            (k("expert_feed_forward_length"), u(m.width)),
            (k("leading_dense_block_count"), u(m.dense_layers)),
            (k("expert_gating_func"), u(2)),
        ]);
    }
    Metadata {
        origin: "GGUF metadata of model.gguf".to_owned(),
        entries,
    }
}

#[test]
fn gguf_metadata() {
    for name in family::NAMES {
        let c = preset(name);
        let m = metadata(&c);
        assert_eq!(
            Config::from_gguf(&m, TensorFacts::default()).unwrap(),
            c,
            "{name}"
        );
        // A re-converted file that states the unadjusted width: the tensors win.
        let facts = TensorFacts {
            ffn_size: Some(c.ffn_size),
            vocab_size: None,
        };
        let mut wrong = metadata(&c);
        for (key, v) in &mut wrong.entries {
            if key.ends_with(".feed_forward_length") {
                *v = Value::Unsigned(12288);
            }
        }
        assert_eq!(Config::from_gguf(&wrong, facts).unwrap(), c, "{name}");
    }
}

#[test]
fn gguf_without_layer_marker_is_refused() {
    let mut m = metadata(&preset("lfm2-1.2b"));
    for (key, v) in &mut m.entries {
        if key.ends_with("head_count_kv") {
            *v = Value::Unsigned(8);
        }
    }
    let e = Config::from_gguf(&m, TensorFacts::default())
        .unwrap_err()
        .to_string();
    assert_eq!(
        e,
        "GGUF metadata of model.gguf: field lfm2.attention.head_count_kv: expected an array with 0 for each conv layer"
    );
}

/// Megabytes per part for the 24B at MLX 4 bits group 64, as a reader can recompute with a pencil.
#[test]
fn bytes_per_token_of_the_24b() {
    let mlx4 = Scheme::Mlx { bits: 4, group: 64 };
    let mb = |b: f64| (b / 1e4).round() / 100.0;
    let b = preset("lfm2-24b-a2b").bytes_per_token(&mlx4, 0);
    let expected = [283.12, 58.98, 81.40, 806.88, 5.29, 75.50, 0.71, 0.49, 0.0];
    for ((name, got), want) in b.parts().into_iter().zip(expected) {
        assert!(
            (mb(got) - want).abs() < 0.011,
            "{name}: {} MB, expected {want}",
            mb(got)
        );
    }
    assert_eq!((b.fixed() / 1e5).round() / 10.0, 1312.4);
    let b = preset("lfm2.5-24b-a2b").bytes_per_token(&mlx4, 0);
    assert_eq!((b.fixed() / 1e5).round() / 10.0, 1384.3);

    let total = |name: &str, s: Scheme, n: usize| {
        (preset(name).bytes_per_token(&s, n).total() / 1e5).round() / 10.0
    };
    for (name, scheme, context, want) in [
        ("lfm2-24b-a2b", mlx4, 256, 1317.6),
        ("lfm2-24b-a2b", mlx4, 16384, 1647.9),
        ("lfm2-24b-a2b", mlx4, 32768, 1983.5),
        ("lfm2.5-24b-a2b", mlx4, 256, 1389.6),
        ("lfm2.5-24b-a2b", mlx4, 16384, 1719.9),
        ("lfm2.5-24b-a2b", mlx4, 32768, 2055.4),
        ("lfm2.5-24b-a2b", mlx4, 131_072, 4068.7),
        (
            "lfm2-24b-a2b",
            Scheme::Mlx { bits: 8, group: 64 },
            0,
            2473.1,
        ),
        ("lfm2-24b-a2b", Scheme::Bf16, 0, 4654.3),
    ] {
        assert_eq!(
            total(name, scheme, context),
            want,
            "{name} {scheme:?} {context}"
        );
    }
    assert_eq!(preset("lfm2-24b-a2b").kv_bytes_per_position(2), 20_480);
    assert_eq!(preset("lfm2-8b-a1b").kv_bytes_per_position(2), 12_288);
    assert_eq!(preset("lfm2-24b-a2b").conv_state_bytes(2), 245_760);
}

#[test]
fn refusals_name_field_value_and_expectation() {
    let base = || preset("lfm2-24b-a2b").to_json();
    let mut cases: Vec<(serde_json::Value, &str)> = Vec::new();
    let mut with = |field: &str, v: serde_json::Value, message: &'static str| {
        let mut c = base();
        c[field] = v;
        cases.push((c, message));
    };
    with(
        "model_type",
        json!("llama"),
        "config.json: field model_type: is \"llama\"; expected \"lfm2\" or \"lfm2_moe\" (this engine runs the LFM2 family only)",
    );
    with(
        "hidden_size",
        json!("x"),
        "config.json: field hidden_size: is \"x\"; expected a non-negative integer",
    );
    with(
        "hidden_size",
        json!(null),
        "config.json: field hidden_size: is null; expected a non-negative integer",
    );
    with(
        "conv_bias",
        json!(true),
        "config.json: field conv_bias: is true; expected false (as in every released member of the family)",
    );
    with(
        "tie_word_embeddings",
        json!(false),
        "config.json: field tie_word_embeddings: is false; expected true (as in every released member of the family)",
    );
    with(
        "layer_types",
        json!(["conv"]),
        "config.json: field layer_types: has 1 entries; num_hidden_layers is 40",
    );
    with(
        "num_experts_per_tok",
        json!(65),
        "config.json: field num_experts_per_tok: is 65; expected 1 to 64 and at most num_experts",
    );
    with(
        "rope_parameters",
        json!({"rope_type": "yarn"}),
        "config.json: rope_parameters: field rope_type: is \"yarn\"; expected \"default\" (no scaling)",
    );
    with(
        "quantization",
        json!({"bits": 4, "group_size": 64, "mode": "mxfp4"}),
        "config.json: quantization: field mode: is \"mxfp4\"; expected \"affine\" (other modes are not supported)",
    );
    with(
        "quantization",
        json!({"bits": 3, "group_size": 64}),
        "config.json: quantization: field bits: is 3; expected 4 or 8",
    );
    with(
        "num_hidden_layers",
        json!(4_000_000_000_u64),
        "config.json: field num_hidden_layers: is 4000000000; expected 1 to 1024",
    );
    for (v, message) in cases {
        assert_eq!(parse(&v).unwrap_err(), message);
    }
    let mut v = base();
    v["layer_types"][3] = json!("mamba");
    assert_eq!(
        parse(&v).unwrap_err(),
        "config.json: field layer_types: contains \"mamba\"; expected a list of \"conv\" or \"full_attention\", one per layer"
    );
    v.as_object_mut().unwrap().remove("layer_types");
    assert_eq!(
        parse(&v).unwrap_err(),
        "config.json: field full_attn_idxs: missing; expected layer_types, or a list of layer indices as older files have"
    );
    for junk in ["", "[]", "{", "nul", "\u{feff}{}"] {
        let e = Config::from_json(junk.as_bytes(), "config.json")
            .unwrap_err()
            .to_string();
        assert!(e.starts_with("config.json: field (whole file): is "), "{e}");
        assert!(!e.contains('\n'));
    }
}

#[test]
fn per_module_quantisation() {
    let mut v = preset("lfm2-24b-a2b").to_json();
    v["quantization"] = json!({"group_size": 64, "bits": 4, "mode": "affine",
        "model.layers.2.feed_forward.gate": {"group_size": 64, "bits": 8},
        "model.layers.3.self_attn.q_proj": false});
    let q = parse(&v).unwrap().quantization.unwrap();
    assert_eq!(
        q.for_module("model.layers.2.feed_forward.gate")
            .unwrap()
            .bits,
        8
    );
    assert_eq!(q.for_module("model.layers.3.self_attn.q_proj"), None);
    assert_eq!(q.for_module("model.embed_tokens").unwrap().bits, 4);
}
