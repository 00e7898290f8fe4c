//! Grouped-query attention with per-head RMS norms and half-rotation RoPE.

use super::state::Kv;
use super::{Matrix, Numerics, ops};
use crate::config::Config;

/// The weights of one attention layer.
pub(super) struct Weights<'a> {
    pub(super) q: &'a Matrix,
    pub(super) k: &'a Matrix,
    pub(super) v: &'a Matrix,
    pub(super) q_norm: &'a Matrix,
    pub(super) k_norm: &'a Matrix,
    pub(super) output: &'a Matrix,
}

/// Attends from `position..position + T` to everything before and itself; appends to `kv`.
pub(super) fn forward(
    n: Numerics,
    c: &Config,
    h: &[f32],
    w: &Weights<'_>,
    position: usize,
    kv: &mut Kv,
) -> Vec<f32> {
    let d = c.head_dim;
    let (q_width, kv_width) = (c.heads * d, c.kv_heads * d);
    // The norm works on rows of head_dim, so heads need no loop of their own.
    let mut q = ops::rms_rows(n, &ops::linear(n, h, w.q), w.q_norm, c.norm_eps);
    let mut k = ops::rms_rows(n, &ops::linear(n, h, w.k), w.k_norm, c.norm_eps);
    for (t, row) in q.chunks_exact_mut(q_width).enumerate() {
        rope(n, c, row, position + t);
    }
    for (t, row) in k.chunks_exact_mut(kv_width).enumerate() {
        rope(n, c, row, position + t);
    }
    kv.k.extend(k);
    kv.v.extend(ops::linear(n, h, w.v));

    let group = c.heads / c.kv_heads;
    let scale = 1.0 / (d as f32).sqrt();
    let mut out = Vec::with_capacity(q.len());
    for (t, row) in q.chunks_exact(q_width).enumerate() {
        let visible = position + t + 1;
        for (head, q) in row.chunks_exact(d).enumerate() {
            let at = (head / group) * d;
            let mut scores: Vec<f32> = (0..visible)
                .map(|p| ops::dot(q, &kv.k[p * kv_width + at..][..d]) * scale)
                .collect();
            softmax(&mut scores);
            let mut y = vec![0.0_f32; d];
            for (p, s) in scores.iter().enumerate() {
                for (y, v) in y.iter_mut().zip(&kv.v[p * kv_width + at..][..d]) {
                    *y += s * v;
                }
            }
            out.extend(y.into_iter().map(|v| n.round(v)));
        }
    }
    ops::linear(n, &out, w.output)
}

/// Rotates pairs `(i, i + d/2)` of each head by `position · θ^(−2i/d)`. Angles are computed in double
/// precision: at position 100 000 a single-precision angle is already off by 0.004.
fn rope(n: Numerics, c: &Config, heads: &mut [f32], position: usize) {
    let d = c.head_dim;
    for head in heads.chunks_exact_mut(d) {
        for i in 0..d / 2 {
            let inv = c.rope_theta.powf(-2.0 * i as f64 / d as f64);
            let (sin, cos) = (position as f64 * inv).sin_cos();
            let (a, b) = (head[i], head[i + d / 2]);
            head[i] = n.round(a * cos as f32 - b * sin as f32);
            head[i + d / 2] = n.round(b * cos as f32 + a * sin as f32);
        }
    }
}

fn softmax(x: &mut [f32]) {
    let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for v in x.iter_mut() {
        *v = (*v - max).exp();
        sum += *v;
    }
    for v in x.iter_mut() {
        *v /= sum;
    }
}
