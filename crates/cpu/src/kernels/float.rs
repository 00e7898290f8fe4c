//! Rows of unquantised weights times rows of activations.
//!
//! Formula `y[r] = Σ_c w[r, c] · x[c]`, weights row-major in bf16, f16 or f32, activations and sums in
//! single precision. Bytes moved: the row once per token. The AVX-512 bf16 dot product is not used: it
//! needs bf16 activations and runs at half the rate of the single-precision multiply-add.

use super::dispatch;
use super::simd::Vector;
use crate::Isa;

/// One row of weights in its stored type.
#[derive(Debug, Clone, Copy)]
pub enum Row<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Half precision bits.
    F16(&'a [u16]),
    /// bfloat16 bits.
    Bf16(&'a [u16]),
}

#[inline(always)]
fn run<V: Vector, T>(w: &[T], x: &[f32], load: impl Fn(&[T]) -> V, one: impl Fn(&T) -> f32) -> f32 {
    let n = w.len().min(x.len());
    let mut s = [V::splat(0.0); 4];
    let mut i = 0;
    while i + 4 * V::LANES <= n {
        for (j, s) in s.iter_mut().enumerate() {
            let at = i + j * V::LANES;
            *s = load(&w[at..]).fma(V::load(&x[at..]), *s);
        }
        i += 4 * V::LANES;
    }
    while i + V::LANES <= n {
        s[0] = load(&w[i..]).fma(V::load(&x[i..]), s[0]);
        i += V::LANES;
    }
    let tail: f32 = (i..n).map(|i| one(&w[i]) * x[i]).sum();
    s[0].add(s[1]).add(s[2].add(s[3])).sum() + tail
}

#[inline(always)]
pub(super) fn dot_generic<V: Vector>(w: Row<'_>, x: &[f32]) -> f32 {
    match w {
        Row::F32(w) => run(w, x, |w| V::load(w), |w| *w),
        Row::F16(w) => run(
            w,
            x,
            |w| V::load_f16(w),
            |w| half::f16::from_bits(*w).to_f32(),
        ),
        Row::Bf16(w) => run(
            w,
            x,
            |w| V::load_bf16(w),
            |w| f32::from_bits(u32::from(*w) << 16),
        ),
    }
}

/// `Σ w·x`.
pub fn dot(isa: Isa, w: Row<'_>, x: &[f32]) -> f32 {
    dispatch!(isa, dot_generic(w: Row<'_>, x: &[f32]) -> f32)
}
