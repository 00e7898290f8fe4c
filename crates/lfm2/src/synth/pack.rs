//! Codes into stored forms, each exact.

use super::recipe::{GROUP, RowScale, exact_power};
use crate::quant::{FloatType, KQuant};
use crate::write::{Encoded, Storage};

/// Code `i` of a row whose codes are `words`.
#[inline]
fn code(words: &[u64], i: usize) -> u8 {
    (words[i / 16] >> (4 * (i % 16))) as u8 & 15
}

/// Appends a row of `cols` codes with its scales as `storage`.
pub(super) fn row(
    words: &[u64],
    cols: usize,
    scale: &RowScale,
    storage: Storage,
    out: &mut Encoded,
) {
    let unit = exact_power(scale.exponent);
    let s = |first: usize| (f64::from(scale.units(first / GROUP)) * unit) as f32;
    match storage {
        Storage::Float(float) => {
            for first in (0..cols).step_by(GROUP) {
                let s = s(first);
                let end = (first + GROUP).min(cols);
                match float {
                    FloatType::F32 => values(words, first..end, s, float, &mut out.main, |v, o| {
                        o.extend_from_slice(v);
                    }),
                    _ => values(words, first..end, s, float, &mut out.main, |v, o| {
                        o.extend_from_slice(&v[..2]);
                    }),
                }
            }
        }
        Storage::Affine { bits, group, float } => {
            // At 8 bits the codes are spread over the whole range: 16·q at a sixteenth of the scale.
            let down = if bits == 4 { 1.0 } else { 1.0 / 16.0 };
            if bits == 4 {
                for w in &words[..cols / 16] {
                    out.main.extend_from_slice(&w.to_le_bytes());
                }
            } else {
                out.main.extend((0..cols).map(|i| code(words, i) << 4));
            }
            for first in (0..cols).step_by(group) {
                float.put(s(first) * down, &mut out.scales);
                float.put(-8.0 * s(first), &mut out.biases);
            }
        }
        Storage::Q4_0 => {
            for (block, w) in words[..cols / 16].chunks_exact(2).enumerate() {
                FloatType::F16.put(s(32 * block), &mut out.main);
                out.main
                    .extend((0..16).map(|i| code(w, i) | code(w, i + 16) << 4));
            }
        }
        Storage::Q8_0 => {
            for (block, w) in words[..cols / 16].chunks_exact(2).enumerate() {
                FloatType::F16.put(s(32 * block) / 16.0, &mut out.main);
                out.main
                    .extend((0..32).map(|i| (code(w, i) as i8 - 8).wrapping_mul(16) as u8));
            }
        }
        Storage::K(kind) => {
            for (block, w) in words[..cols / 16].chunks_exact(16).enumerate() {
                let units = [scale.units(2 * block), scale.units(2 * block + 1)].map(|u| u as u8);
                super_block(kind, w, units, unit as f32, &mut out.main);
            }
        }
    }
}

/// Appends the values of columns `of` through a table of sixteen.
fn values(
    words: &[u64],
    of: std::ops::Range<usize>,
    s: f32,
    float: FloatType,
    out: &mut Vec<u8>,
    put: impl Fn(&[u8; 4], &mut Vec<u8>),
) {
    let mut table = [[0_u8; 4]; 16];
    for (q, entry) in table.iter_mut().enumerate() {
        let mut bytes = Vec::with_capacity(4);
        float.put(s * (q as f32 - 8.0), &mut bytes);
        entry[..bytes.len()].copy_from_slice(&bytes);
    }
    out.reserve(of.len() * float.size());
    for i in of {
        put(&table[usize::from(code(words, i))], out);
    }
}

/// A super-block of 256 whose halves have the scales `units` times `unit`.
fn super_block(kind: KQuant, w: &[u64], units: [u8; 2], unit: f32, out: &mut Vec<u8>) {
    let f16 = FloatType::F16;
    match kind {
        KQuant::Q4K | KQuant::Q5K => {
            // Five bits take the code doubled, so that the fifth bit is used.
            let five = kind == KQuant::Q5K;
            f16.put(if five { unit / 2.0 } else { unit }, out);
            f16.put(8.0 * unit, out);
            // Scales and minima are equal and below 32: of the split half, the top bit lies apart.
            for j in 0..12 {
                let (low, high) = (units[0], units[1]);
                out.push(if j < 8 {
                    low | (high >> 4) << 6
                } else {
                    (high & 15) | (high & 15) << 4
                });
            }
            let shift = u8::from(five);
            if five {
                out.extend(
                    (0..32).map(|l| (0..8).fold(0, |b, j| b | (code(w, 32 * j + l) >> 3) << j)),
                );
            }
            for pair in 0..4 {
                out.extend((0..32).map(|l| {
                    let low = code(w, 64 * pair + l) << shift & 15;
                    let high = code(w, 64 * pair + 32 + l) << shift & 15;
                    low | high << 4
                }));
            }
        }
        KQuant::Q6K => {
            // Codes −28 to 28 in steps of four, stored plus 32.
            let q = |i: usize| ((code(w, i) as i8 - 8) * 4 + 32) as u8;
            for h in 0..2 {
                out.extend(
                    (0..64).map(|l| (q(128 * h + l) & 15) | (q(128 * h + 64 + l) & 15) << 4),
                );
            }
            for h in 0..2 {
                out.extend(
                    (0..32).map(|l| {
                        (0..4).fold(0, |b, g| b | (q(128 * h + 32 * g + l) >> 4) << (2 * g))
                    }),
                );
            }
            out.extend([units[0]; 8]);
            out.extend([units[1]; 8]);
            f16.put(unit / 4.0, out);
        }
    }
}
