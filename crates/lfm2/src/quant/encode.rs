//! From single precision to grouped codes: MLX affine, Q4_0, Q8_0, and plain floats.
//!
//! The affine and the two GGUF quantisers give the same bytes as mlx and gguf-py do (checked against
//! both, see `tests/quant.rs`), so that a model written here is the model those tools would have written.

use half::{bf16, f16};

use super::FloatType;

impl FloatType {
    /// Appends `v`, rounded to nearest even.
    pub fn put(self, v: f32, out: &mut Vec<u8>) {
        match self {
            Self::F32 => out.extend_from_slice(&v.to_le_bytes()),
            Self::F16 => out.extend_from_slice(&f16::from_f32(v).to_le_bytes()),
            Self::Bf16 => out.extend_from_slice(&bf16::from_f32(v).to_le_bytes()),
        }
    }

    /// Appends all of `values`.
    pub fn put_all(self, values: &[f32], out: &mut Vec<u8>) {
        out.reserve(values.len() * self.size());
        for v in values {
            self.put(*v, out);
        }
    }
}

/// Quantises rows as MLX does, appending codes (`bits/8` bytes a weight, least significant first), scales
/// and biases (one of each per `group` weights, of type `float`). `bits` is 4 or 8; the length of `w` is a
/// multiple of `group`.
///
/// The edge of larger magnitude gets a code of its own exactly, so scales are negative where that is the
/// upper edge; a group that crosses zero represents zero exactly.
pub fn mlx_affine(
    w: &[f32],
    bits: u32,
    group: usize,
    float: FloatType,
    codes: &mut Vec<u8>,
    scales: &mut Vec<u8>,
    biases: &mut Vec<u8>,
) {
    let n = ((1_u32 << bits) - 1) as f32;
    for w in w.chunks_exact(group) {
        let hi = w.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let lo = w.iter().copied().fold(f32::INFINITY, f32::min);
        let mut s = ((hi - lo) / n).max(1e-7);
        let edge = if lo.abs() > hi.abs() {
            lo
        } else {
            s = -s;
            hi
        };
        let q0 = (edge / s).round_ties_even();
        let mut b = 0.0;
        if q0 != 0.0 {
            s = edge / q0;
            b = edge;
        }
        float.put(s, scales);
        float.put(b, biases);
        let code = |v: f32| ((v - b) / s).round_ties_even().clamp(0.0, n) as u8;
        if bits == 4 {
            codes.extend(w.chunks_exact(2).map(|v| code(v[0]) | code(v[1]) << 4));
        } else {
            codes.extend(w.iter().map(|v| code(*v)));
        }
    }
}

/// Appends Q4_0 blocks (18 bytes per 32 weights); the length of `w` is a multiple of 32.
///
/// The weight of largest magnitude becomes code 0 (−8 scales), the others are rounded to nearest.
pub fn q4_0(w: &[f32], out: &mut Vec<u8>) {
    for w in w.chunks_exact(32) {
        let edge = w
            .iter()
            .copied()
            .fold(0.0_f32, |m, v| if v.abs() > m.abs() { v } else { m });
        let d = edge / -8.0;
        let inverse = if d == 0.0 { 0.0 } else { 1.0 / d };
        FloatType::F16.put(d, out);
        let code = |v: f32| (v * inverse + 8.5).clamp(0.0, 15.0) as u8;
        out.extend((0..16).map(|i| code(w[i]) | code(w[i + 16]) << 4));
    }
}

/// Appends Q8_0 blocks (34 bytes per 32 weights); the length of `w` is a multiple of 32.
pub fn q8_0(w: &[f32], out: &mut Vec<u8>) {
    for w in w.chunks_exact(32) {
        let top = w.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
        let d = top / 127.0;
        let inverse = if d == 0.0 { 0.0 } else { 1.0 / d };
        FloatType::F16.put(d, out);
        out.extend(w.iter().map(|v| (v * inverse).round() as i8 as u8));
    }
}
