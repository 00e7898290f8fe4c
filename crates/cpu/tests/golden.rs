//! The backend against the reference: every path, every format, chunks of every size.

use std::path::{Path, PathBuf};

use cpu::{Cpu, Isa, Options, Precision};
use engine::{Backend, Cancel, Control, Decode, Flow, Request, Sampling, Session, Token, Want};
use lfm2::reference::Reference;

const MODELS: [&str; 5] = ["dense", "moe", "dense/mlx", "moe/mlx", "kquant/kquant.gguf"];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../lfm2/tests/golden")
        .join(name)
}

fn backend(name: &str, isa: Isa, threads: usize) -> Cpu {
    with_precision(name, isa, threads, Precision::default())
}

fn with_precision(name: &str, isa: Isa, threads: usize, precision: Precision) -> Cpu {
    let options = Options {
        threads: Some(threads),
        isa: Some(isa),
        context: 1024,
        precision,
    };
    Cpu::new(
        lfm2::open(&path(name)).unwrap().weights(),
        &options,
        &mut |_, _| {},
    )
    .unwrap()
}

fn prompt(n: usize) -> Vec<u32> {
    (0..n as u32)
        .map(|i| (i * 7919 + i * i * 31) % 256)
        .collect()
}

/// Log of logits after each token.
fn rows(b: &mut Cpu, tokens: &[u32], cuts: &[usize]) -> Vec<f32> {
    let mut s = b.create().unwrap();
    let mut out = Vec::new();
    let mut at = 0;
    let mut cuts = cuts.iter().copied().cycle();
    while at < tokens.len() {
        let n = cuts.next().unwrap().min(tokens.len() - at);
        let all: Vec<usize> = (0..n).collect();
        out.extend(
            b.score(&mut s, &tokens[at..at + n], Want::Rows(&all))
                .unwrap()
                .rows,
        );
        at += n;
    }
    out
}

/// The published bound on logit errors, as a share of the logits' range. Keys and values are f16 on every
/// path; eight-bit activations add their own noise, which these tiny random models amplify: where two experts
/// are nearly as good it decides between them (6.6e-2 on NEON for `moe/mlx`, 4.5e-2 on x86-64).
fn bound(name: &str, precision: Precision) -> f32 {
    let plain = name == "dense" || name == "moe";
    if plain || precision == Precision::Sixteen {
        1e-3
    } else {
        8e-2
    }
}

#[test]
fn every_path_and_format_agrees_with_the_reference() {
    println!("| model | path | activations | max logit error / range | clear positions | agree |");
    for name in MODELS {
        let r = Reference::new(lfm2::open(&path(name)).unwrap().weights()).unwrap();
        let tokens = prompt(150);
        let want = r.forward(&mut r.state(), &tokens).unwrap();
        let range = want.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
        for isa in Isa::available() {
            for precision in [Precision::Sixteen, Precision::Eight] {
                let mut b = with_precision(name, isa, 2, precision);
                let got = rows(&mut b, &tokens, &[1000]);
                let worst = got
                    .iter()
                    .zip(&want)
                    .fold(0.0_f32, |m, (g, w)| m.max((g - w).abs()))
                    / range;
                let (clear, agree) = clear_and_equal(&got, &want);
                let (path, bits) = (isa.name(), precision.name());
                println!("| {name} | {path} | {bits} | {worst:.1e} | {clear} / 150 | {agree} |");
                assert!(
                    worst < bound(name, precision),
                    "{name} {path} {bits}: off by {worst:e}"
                );
                assert!(
                    clear >= 120,
                    "{name}: only {clear} of 150 positions are clear"
                );
                if precision == Precision::Sixteen {
                    assert_eq!(agree, clear, "{name} {path}: a clear choice differs");
                }
            }
        }
    }
}

/// Positions where the reference's two best logits are more than 0.1 standard deviations apart, and those
/// of them where the best token is the same.
fn clear_and_equal(got: &[f32], want: &[f32]) -> (usize, usize) {
    let (mut clear, mut agree) = (0, 0);
    for (g, w) in got.chunks_exact(256).zip(want.chunks_exact(256)) {
        let mut sorted = w.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let mean = w.iter().sum::<f32>() / 256.0;
        let sd = (w.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / 256.0).sqrt();
        if sorted[0] - sorted[1] > 0.1 * sd {
            clear += 1;
            agree += usize::from(engine::sampler::argmax(g) == engine::sampler::argmax(w));
        }
    }
    (clear, agree)
}

#[test]
fn a_decoded_token_leaves_the_bits_of_a_prefilled_one() {
    for name in MODELS {
        for isa in Isa::available() {
            for precision in [Precision::Sixteen, Precision::Eight] {
                for threads in [1, 3] {
                    let mut b = with_precision(name, isa, threads, precision);
                    let mut s = b.create().unwrap();
                    let first = prompt(61);
                    b.prefill(&mut s, &first, &mut Control::default()).unwrap();
                    // Far enough to cross two pages.
                    let mut tokens = first;
                    let sampling = Sampling {
                        temperature: 1.0,
                        ..Sampling::default()
                    };
                    let mut sampler = engine::Sampler::new(sampling, &tokens);
                    b.decode(
                        &mut s,
                        &mut Decode {
                            sampler: &mut sampler,
                            stop: &[],
                            budget: 70,
                            mask: None,
                            top_logprobs: None,
                            cancel: Cancel::default(),
                        },
                        &mut |t: &[Token]| {
                            tokens.extend(t.iter().map(|t| t.id));
                            Flow::Continue
                        },
                    )
                    .unwrap();
                    assert_eq!(tokens.len(), 131);
                    let decoded = b.score(&mut s, &[7], Want::Rows(&[0])).unwrap().rows;
                    tokens.push(7);
                    let mut s = b.create().unwrap();
                    let prefilled = b.score(&mut s, &tokens, Want::Rows(&[131])).unwrap().rows;
                    assert!(
                        decoded == prefilled,
                        "{name} {} {}: decoding differs from prefill",
                        isa.name(),
                        precision.name()
                    );
                }
            }
        }
    }
}

#[test]
fn chunks_threads_and_requests_never_change_a_bit() {
    for name in MODELS {
        let tokens = prompt(if name == "moe/mlx" { 700 } else { 130 });
        let isa = Isa::detect();
        let want = rows(&mut backend(name, isa, 1), &tokens, &[1000]);
        for (threads, cut) in [
            (2, 1),
            (1, 2),
            (2, 3),
            (1, 31),
            (2, 32),
            (3, 33),
            (2, 64),
            (2, 512),
        ] {
            let got = rows(&mut backend(name, isa, threads), &tokens, &[cut]);
            assert!(
                got == want,
                "{name}: chunks of {cut} on {threads} threads differ"
            );
        }
        let got = rows(&mut backend(name, isa, 2), &tokens, &[97, 300, 303]);
        assert!(got == want, "{name}: two requests differ from one");
    }
}

#[test]
fn forks_exports_and_disk_keep_every_bit() {
    for name in ["moe/mlx", "dense"] {
        let mut b = backend(name, Isa::detect(), 2);
        let tokens = prompt(300);
        let want = rows(&mut b, &tokens, &[1000]);
        let all: Vec<usize> = (0..300).collect();
        let mut s = b.create().unwrap();
        b.prefill(&mut s, &tokens[..250], &mut Control::default())
            .unwrap();
        for at in [0, 1, 63, 64, 65, 128, 200, 250] {
            let mut f = b.fork(&s, at).unwrap();
            let p = b.position(&f);
            assert_eq!(p, at / 64 * 64);
            let got = b
                .score(&mut f, &tokens[p..], Want::Rows(&all[..300 - p]))
                .unwrap()
                .rows;
            assert!(got == want[p * 256..], "{name}: fork at {at}");
        }
        let bytes = b.export(&s, 0..3).unwrap();
        let mut other = backend(name, Isa::detect(), 1);
        let mut s = other.create().unwrap();
        other.import(&mut s, &bytes).unwrap();
        assert_eq!(other.position(&s), 192);
        let got = other
            .score(&mut s, &tokens[192..], Want::Rows(&all[..108]))
            .unwrap()
            .rows;
        assert!(got == want[192 * 256..], "{name}: import");
        assert!(other.import(&mut s, &bytes[1..]).is_err());
    }
}

#[test]
fn a_session_generates_what_the_reference_does() {
    let r = Reference::new(lfm2::open(&path("moe")).unwrap().weights()).unwrap();
    let tokens = prompt(70);
    let mut state = r.state();
    let mut logits = r.forward(&mut state, &tokens).unwrap();
    let mut want = Vec::new();
    for _ in 0..20 {
        let t = engine::sampler::argmax(&logits[logits.len() - 256..]);
        want.push(t);
        logits = r.forward(&mut state, &[t]).unwrap();
    }
    let mut b = backend("moe", Isa::detect(), 2);
    let mut s = Session::new(&mut b).unwrap();
    let mut got = Vec::new();
    let mut request = Request {
        max_tokens: Some(20),
        ..Request::new(Sampling::greedy(), &[])
    };
    s.generate(&mut b, &tokens, &mut request, &mut |t| {
        got.push(t.id);
        true
    })
    .unwrap();
    assert_eq!(got, want);
}

#[test]
fn cancelling_a_prefill_leaves_whole_chunks() {
    let mut b = backend("moe/mlx", Isa::detect(), 2);
    let tokens = prompt(900);
    let mut s = b.create().unwrap();
    let cancel = engine::Cancel::default();
    let stop = cancel.clone();
    let mut progress = move |done: usize| {
        if done >= 512 {
            stop.cancel();
        }
    };
    let mut c = Control {
        cancel,
        progress: Some(&mut progress),
    };
    assert_eq!(b.prefill(&mut s, &tokens, &mut c).unwrap(), 512);
    assert_eq!(b.position(&s), 512);
    let want = rows(&mut b, &tokens, &[1000]);
    let got = b
        .score(&mut s, &tokens[512..], Want::Rows(&[387]))
        .unwrap()
        .rows;
    assert!(got == want[899 * 256..]);
}

#[test]
fn a_scale_that_is_no_number_is_found_when_the_model_loads() {
    let config = std::fs::read(path("dense/mlx").join("config.json")).unwrap();
    let mut weights = std::fs::read(path("dense/mlx").join("model.safetensors")).unwrap();
    let opened = lfm2::open(&path("dense/mlx")).unwrap();
    let entry = opened
        .weights()
        .entries()
        .into_iter()
        .find(|e| e.name == "model.layers.0.conv.in_proj.scales")
        .unwrap();
    let at = entry.offset as usize + 6;
    weights[at..at + 2].copy_from_slice(&0x7fc0_u16.to_le_bytes());
    let source = lfm2::open_safetensors_bytes("bad", &config, &weights).unwrap();
    let e = Cpu::new(&source, &Options::default(), &mut |_, _| {})
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("in_proj") && e.contains(&format!("at byte {at}")),
        "{e}"
    );
    assert!(!e.contains('\n'));
}
