//! Quantisers and their readers against mlx and gguf-py (`tools/golden/quants.py` makes the data), and
//! the K-quant search against its own error.

use half::{bf16, f16};
use lfm2::quant::{
    FloatType, KQuant, QuantLayout, QuantTensor, WeightData, WeightTensor, Zero, k_quantise,
    mlx_affine, q4_0, q8_0,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    rows: usize,
    cols: usize,
    values: String,
    mlx: Vec<Affine>,
    gguf: Vec<Blocks>,
}

#[derive(Deserialize)]
struct Affine {
    float: String,
    bits: u32,
    group: usize,
    codes: String,
    scales: String,
    biases: String,
    values: String,
}

#[derive(Deserialize)]
struct Blocks {
    r#type: String,
    blocks: String,
    values: String,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("data/quants.json")).unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |b: u8| (b as char).to_digit(16).unwrap() as u8;
    hex.as_bytes()
        .chunks(2)
        .map(|p| digit(p[0]) << 4 | digit(p[1]))
        .collect()
}

fn floats(hex: &str) -> Vec<f32> {
    bytes(hex)
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

/// A small generator, so that tests need no crate for it: normal values by summing uniform ones.
fn normal(n: usize, seed: u64) -> Vec<f32> {
    let mut s = seed;
    let mut uniform = || {
        s = s
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (s >> 40) as f32 / (1_u64 << 24) as f32
    };
    (0..n)
        .map(|_| (0..12).map(|_| uniform()).sum::<f32>() - 6.0)
        .collect()
}

#[test]
fn mlx_affine_codes_scales_and_biases_are_mlxs() {
    let g = golden();
    let w = floats(&g.values);
    for c in &g.mlx {
        let label = format!("{} bits {} group {}", c.float, c.bits, c.group);
        let (float, w): (_, Vec<f32>) = match &c.float[..] {
            "F32" => (FloatType::F32, w.clone()),
            "F16" => (
                FloatType::F16,
                w.iter().map(|v| f16::from_f32(*v).to_f32()).collect(),
            ),
            _ => (
                FloatType::Bf16,
                w.iter().map(|v| bf16::from_f32(*v).to_f32()).collect(),
            ),
        };
        let (mut codes, mut scales, mut biases) = (Vec::new(), Vec::new(), Vec::new());
        mlx_affine(
            &w,
            c.bits,
            c.group,
            float,
            &mut codes,
            &mut scales,
            &mut biases,
        );
        assert_eq!(codes, bytes(&c.codes), "{label}: codes");
        assert_eq!(scales, bytes(&c.scales), "{label}: scales");
        assert_eq!(biases, bytes(&c.biases), "{label}: biases");
        let t = WeightTensor {
            rows: g.rows,
            cols: g.cols,
            data: WeightData::Quant(QuantTensor {
                bits: c.bits,
                group: c.group,
                scale_type: float,
                zero: Zero::Stored(&biases),
                layout: QuantLayout::Separate {
                    codes: &codes,
                    scales: &scales,
                },
            }),
        };
        // mlx may fuse the multiplication and addition; we do not.
        for (got, want) in t.to_f32().iter().zip(floats(&c.values)) {
            assert!(
                (got - want).abs() <= 2e-6 * want.abs().max(1.0),
                "{label}: {got} {want}"
            );
        }
        let want = f64::from(c.bits) + 16.0 * float.size() as f64 / c.group as f64;
        assert_eq!(t.bits_per_weight(), want);
    }
}

fn block_tensor<'a>(name: &str, rows: usize, cols: usize, blocks: &'a [u8]) -> WeightTensor<'a> {
    let grouped = |bits, zero| {
        WeightData::Quant(QuantTensor {
            bits,
            group: 32,
            scale_type: FloatType::F16,
            zero,
            layout: QuantLayout::Blocks(blocks),
        })
    };
    let data = match name {
        "Q4_0" => grouped(4, Zero::Implied),
        "Q8_0" => grouped(8, Zero::None),
        "Q4_K" => WeightData::K(KQuant::Q4K, blocks),
        "Q5_K" => WeightData::K(KQuant::Q5K, blocks),
        "Q6_K" => WeightData::K(KQuant::Q6K, blocks),
        _ => panic!("{name}"),
    };
    WeightTensor { rows, cols, data }
}

#[test]
fn gguf_blocks_read_as_gguf_py_reads_them() {
    let g = golden();
    for c in &g.gguf {
        let b = bytes(&c.blocks);
        let t = block_tensor(&c.r#type, g.rows, g.cols, &b);
        assert_eq!(t.stored_bytes(), b.len());
        assert_eq!(t.type_name(), c.r#type);
        for (i, (got, want)) in t.to_f32().iter().zip(floats(&c.values)).enumerate() {
            assert_eq!(*got, want, "{} value {i}", c.r#type);
        }
    }
}

#[test]
fn q4_0_and_q8_0_blocks_are_gguf_pys() {
    let g = golden();
    let w = floats(&g.values);
    for c in &g.gguf {
        let mut out = Vec::new();
        match &c.r#type[..] {
            "Q4_0" => q4_0(&w, &mut out),
            "Q8_0" => q8_0(&w, &mut out),
            _ => continue,
        }
        assert_eq!(out, bytes(&c.blocks), "{}", c.r#type);
    }
}

#[test]
fn k_quants_round_trip_within_their_precision() {
    // Root mean square error relative to the root mean square of normal weights. The rounding of an ideal
    // uniform quantiser at 4, 5, 6 bits over ±2.7σ would be 0.10, 0.05, 0.025.
    for (kind, name, bound) in [
        (KQuant::Q4K, "Q4_K", 0.075),
        (KQuant::Q5K, "Q5_K", 0.038),
        (KQuant::Q6K, "Q6_K", 0.020),
    ] {
        for sigma in [1e-3_f32, 0.05, 30.0] {
            let w: Vec<f32> = normal(256 * 64, 7).iter().map(|v| v * sigma).collect();
            let mut b = Vec::new();
            k_quantise(kind, &w, &mut b);
            let got = block_tensor(name, 64, 256, &b).to_f32();
            let error: f32 = got.iter().zip(&w).map(|(g, w)| (g - w).powi(2)).sum();
            let size: f32 = w.iter().map(|w| w.powi(2)).sum();
            let rms = (error / size).sqrt();
            println!("{name} sigma {sigma}: {rms}");
            assert!(rms < bound, "{name} sigma {sigma}: {rms}");
        }
    }
}

#[test]
fn k_quants_take_what_is_odd() {
    let mut cases = vec![
        vec![0.0; 256],
        vec![1.0; 256],
        vec![-1.0; 256],
        vec![1e-9; 256],
        vec![f32::MAX; 256],
    ];
    let mut one = vec![0.0; 256];
    one[17] = -3.0;
    cases.push(one);
    for (kind, name) in [
        (KQuant::Q4K, "Q4_K"),
        (KQuant::Q5K, "Q5_K"),
        (KQuant::Q6K, "Q6_K"),
    ] {
        for w in &cases {
            let mut b = Vec::new();
            k_quantise(kind, w, &mut b);
            let t = block_tensor(name, 1, 256, &b);
            assert_eq!(t.first_not_finite(), None);
            let top = w.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
            if top > 1e-6 && top < 1e4 {
                for (g, w) in t.to_f32().iter().zip(w) {
                    assert!((g - w).abs() <= 0.05 * top, "{name}: {g} for {w}");
                }
            }
        }
    }
}

#[test]
fn a_scale_that_is_not_finite_is_found_where_it_lies() {
    for (name, size, places) in [
        ("Q4_0", 18, &[0][..]),
        ("Q8_0", 34, &[0]),
        ("Q4_K", 144, &[0, 2]),
        ("Q5_K", 176, &[0, 2]),
        ("Q6_K", 210, &[208]),
    ] {
        for place in places {
            let mut b = vec![0; 16 * size];
            let at = 3 * size + place;
            b[at..at + 2].copy_from_slice(&f16::NAN.to_le_bytes());
            let cols = if size < 100 { 512 } else { 4096 };
            let t = block_tensor(name, 1, cols, &b);
            assert_eq!(t.first_not_finite(), Some(("scale", at)), "{name}");
        }
    }
    for float in [FloatType::F32, FloatType::F16, FloatType::Bf16] {
        let mut b = Vec::new();
        float.put_all(&[1.0, f32::MIN_POSITIVE, -2.0, f32::NEG_INFINITY], &mut b);
        let t = WeightTensor {
            rows: 1,
            cols: 4,
            data: WeightData::Float(float, &b),
        };
        assert_eq!(t.first_not_finite(), Some(("value", 3 * float.size())));
    }
}
