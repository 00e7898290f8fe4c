//! Operators on rows of activations.

use super::dispatch;
use super::simd::Vector;
use crate::Isa;

/// Values that share an activation scale.
pub const ACTIVATION_GROUP: usize = 32;
/// Granularity of the activation sums: the smallest weight group (Q6_K's).
pub const SUM_GROUP: usize = 16;

#[inline(always)]
fn dot_generic<V: Vector>(a: &[f32], b: &[f32]) -> f32 {
    let n = a.len().min(b.len());
    let mut s = [V::splat(0.0); 4];
    let mut i = 0;
    while i + 4 * V::LANES <= n {
        for (j, s) in s.iter_mut().enumerate() {
            let at = i + j * V::LANES;
            *s = V::load(&a[at..]).fma(V::load(&b[at..]), *s);
        }
        i += 4 * V::LANES;
    }
    let mut tail = 0.0;
    while i + V::LANES <= n {
        s[0] = V::load(&a[i..]).fma(V::load(&b[i..]), s[0]);
        i += V::LANES;
    }
    for j in i..n {
        tail += a[j] * b[j];
    }
    s[0].add(s[1]).add(s[2].add(s[3])).sum() + tail
}

/// `Σ a·b`.
pub fn dot(isa: Isa, a: &[f32], b: &[f32]) -> f32 {
    dispatch!(isa, dot_generic(a: &[f32], b: &[f32]) -> f32)
}

#[inline(always)]
fn rms_generic<V: Vector>(x: &[f32], w: &[f32], eps: f32, out: &mut [f32]) {
    let inv = 1.0 / (dot_generic::<V>(x, x) / x.len() as f32 + eps).sqrt();
    for ((o, x), w) in out.iter_mut().zip(x).zip(w) {
        *o = w * (x * inv);
    }
}

/// `out = w · x / sqrt(mean(x²) + eps)` for one row.
pub fn rms(isa: Isa, x: &[f32], w: &[f32], eps: f32, out: &mut [f32]) {
    dispatch!(isa, rms_generic(x: &[f32], w: &[f32], eps: f32, out: &mut [f32]));
}

#[inline(always)]
fn swiglu_generic<V: Vector>(gate: &mut [f32], up: &[f32]) {
    let n = gate.len().min(up.len());
    let whole = n - n % V::LANES;
    for i in (0..whole).step_by(V::LANES) {
        let g = V::load(&gate[i..]);
        let e = V::splat(0.0).sub(g).exp();
        let y = g.div(V::splat(1.0).add(e)).mul(V::load(&up[i..]));
        y.store(&mut gate[i..]);
    }
    for i in whole..n {
        gate[i] = gate[i] / (1.0 + (-gate[i]).exp()) * up[i];
    }
}

/// `gate = silu(gate) · up`.
pub fn swiglu(isa: Isa, gate: &mut [f32], up: &[f32]) {
    dispatch!(isa, swiglu_generic(gate: &mut [f32], up: &[f32]));
}

#[inline(always)]
fn exp_generic<V: Vector>(x: &mut [f32]) {
    let whole = x.len() - x.len() % V::LANES;
    for i in (0..whole).step_by(V::LANES) {
        V::load(&x[i..]).exp().store(&mut x[i..]);
    }
    for v in &mut x[whole..] {
        *v = v.exp();
    }
}

/// `x = e^x`.
pub fn exp(isa: Isa, x: &mut [f32]) {
    dispatch!(isa, exp_generic(x: &mut [f32]));
}

#[inline(always)]
fn quantise_generic<V: Vector>(x: &[f32], q: &mut [i8], scale: &mut [f32], sums: &mut [f32]) {
    const G: usize = ACTIVATION_GROUP;
    let magic = V::splat(12_582_912.0);
    for (g, x) in x.chunks_exact(G).enumerate() {
        let mut m = V::splat(0.0);
        for i in (0..G).step_by(V::LANES) {
            let v = V::load(&x[i..]);
            m = m.max(v).max(V::splat(0.0).sub(v));
        }
        let mut lanes = [0.0_f32; 16];
        m.store(&mut lanes);
        let max = lanes[..V::LANES].iter().copied().fold(0.0, f32::max);
        let s = max / 127.0;
        let inv = if max > 0.0 { 127.0 / max } else { 0.0 };
        scale[g] = s;
        // Adding 1.5 · 2²³ leaves the rounded integer in the low bits of the sum: no conversion is needed.
        let mut bits = [0.0_f32; G];
        for i in (0..G).step_by(V::LANES) {
            V::load(&x[i..])
                .fma(V::splat(inv), magic)
                .store(&mut bits[i..]);
        }
        let q = &mut q[g * G..][..G];
        for (q, b) in q.iter_mut().zip(bits) {
            *q = b.to_bits() as i8;
        }
        for h in 0..G / SUM_GROUP {
            let total: i32 = q[h * SUM_GROUP..][..SUM_GROUP]
                .iter()
                .map(|q| i32::from(*q))
                .sum();
            sums[g * (G / SUM_GROUP) + h] = s * total as f32;
        }
    }
}

/// Quantises one row of activations: per 32 values the scale `max|x| / 127`, codes rounded to nearest, and
/// per 16 values `scale · Σ codes`. `x.len()` is a multiple of 32.
pub fn quantise(isa: Isa, x: &[f32], q: &mut [i8], scale: &mut [f32], sums: &mut [f32]) {
    dispatch!(isa, quantise_generic(x: &[f32], q: &mut [i8], scale: &mut [f32], sums: &mut [f32]));
}
