//! Operators on rows of activations.

use super::dispatch;
use super::float::{Row, dot_generic};
use super::simd::Vector;
use crate::Isa;

#[inline(always)]
fn rms_generic<V: Vector>(x: &[f32], w: &[f32], eps: f32, out: &mut [f32]) {
    let inv = 1.0 / (dot_generic::<V>(Row::F32(x), x) / x.len() as f32 + eps).sqrt();
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
