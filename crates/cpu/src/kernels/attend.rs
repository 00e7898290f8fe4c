//! Attention within one page of 64 positions, for the query heads that share a key/value head.
//!
//! ```text
//! scores[h, p] = Σ_d q[h, d] · K[d, p]           K: [head_dim, 64] f16, transposed, so that sixteen
//!                                                positions fill a vector and no lane is summed
//! out[h, d]    = out[h, d] · α[h] + Σ_p w[h, p] · V[p, d]     V: [64, head_dim] f16
//! ```
//! Softmax runs online over pages in order of position: `m` is the running maximum and `l` the running sum
//! per head, `α` rescales what came before. The order is fixed, so chunking never changes a bit.

use super::dispatch;
use super::rows::exp;
use super::simd::Vector;
use crate::Isa;
use engine::PAGE;

/// Running softmax of one query head.
#[derive(Debug, Clone, Copy)]
pub struct Running {
    /// Largest score so far.
    pub max: f32,
    /// `Σ e^(score − max)` so far.
    pub sum: f32,
}

impl Default for Running {
    fn default() -> Self {
        Self {
            max: f32::NEG_INFINITY,
            sum: 0.0,
        }
    }
}

/// The first `VB` vectors of `x`.
#[inline(always)]
fn widened<V: Vector, const VB: usize>(x: &[u16]) -> [V; VB] {
    let mut wide = [V::splat(0.0); VB];
    for (j, w) in wide.iter_mut().enumerate() {
        *w = V::load_f16(&x[j * V::LANES..]);
    }
    wide
}

/// Scores of `NQ` queries, `VB` vectors of positions at a time.
#[inline(always)]
fn scores_of<V: Vector, const NQ: usize, const VB: usize>(
    q: &[f32],
    d: usize,
    k: &[u16],
    out: &mut [[f32; PAGE]],
) {
    for block in (0..PAGE).step_by(VB * V::LANES) {
        let mut s = [[V::splat(0.0); VB]; NQ];
        for (i, k) in k.chunks_exact(PAGE).enumerate() {
            let wide = widened::<V, VB>(&k[block..]);
            for (n, s) in s.iter_mut().enumerate() {
                let q = V::splat(q[n * d + i]);
                for (s, w) in s.iter_mut().zip(&wide) {
                    *s = q.fma(*w, *s);
                }
            }
        }
        for (s, out) in s.iter().zip(out.iter_mut()) {
            for (j, s) in s.iter().enumerate() {
                s.store(&mut out[block + j * V::LANES..]);
            }
        }
    }
}

#[inline(always)]
fn scores_generic<V: Vector>(q: &[f32], d: usize, k: &[u16], out: &mut [[f32; PAGE]]) {
    // Sixteen sums fill half of 32 registers, eight half of 16.
    match (out.len(), V::LANES) {
        (4, 16) => scores_of::<V, 4, 4>(q, d, k, out),
        (2, 16) => scores_of::<V, 2, 4>(q, d, k, out),
        (1, _) => scores_of::<V, 1, 4>(q, d, k, out),
        (4, _) => scores_of::<V, 4, 2>(q, d, k, out),
        _ => scores_of::<V, 2, 2>(q, d, k, out),
    }
}

/// Weighted values of `NQ` queries, `VB` vectors of numbers at a time from `at` on.
#[inline(always)]
fn values_of<V: Vector, const NQ: usize, const VB: usize>(
    at: usize,
    w: &[[f32; PAGE]],
    visible: usize,
    v: &[u16],
    alpha: &[f32],
    d: usize,
    out: &mut [f32],
) {
    let mut y = [[V::splat(0.0); VB]; NQ];
    for (n, y) in y.iter_mut().enumerate() {
        for (j, y) in y.iter_mut().enumerate() {
            *y = V::load(&out[n * d + at + j * V::LANES..]).mul(V::splat(alpha[n]));
        }
    }
    for (p, v) in v.chunks_exact(d).take(visible).enumerate() {
        let wide = widened::<V, VB>(&v[at..]);
        for (y, w) in y.iter_mut().zip(w) {
            let w = V::splat(w[p]);
            for (y, v) in y.iter_mut().zip(&wide) {
                *y = w.fma(*v, *y);
            }
        }
    }
    for (n, y) in y.iter().enumerate() {
        for (j, y) in y.iter().enumerate() {
            y.store(&mut out[n * d + at + j * V::LANES..]);
        }
    }
}

#[inline(always)]
fn values_generic<V: Vector>(
    w: &[[f32; PAGE]],
    visible: usize,
    v: &[u16],
    alpha: &[f32],
    d: usize,
    out: &mut [f32],
) {
    let mut at = 0;
    while at + V::LANES <= d {
        let two = at + 2 * V::LANES <= d;
        match (w.len(), two) {
            (4, true) => values_of::<V, 4, 2>(at, w, visible, v, alpha, d, out),
            (4, false) => values_of::<V, 4, 1>(at, w, visible, v, alpha, d, out),
            (2, true) => values_of::<V, 2, 2>(at, w, visible, v, alpha, d, out),
            (2, false) => values_of::<V, 2, 1>(at, w, visible, v, alpha, d, out),
            (_, true) => values_of::<V, 1, 2>(at, w, visible, v, alpha, d, out),
            (_, false) => values_of::<V, 1, 1>(at, w, visible, v, alpha, d, out),
        }
        at += if two { 2 * V::LANES } else { V::LANES };
    }
    for (n, w) in w.iter().enumerate() {
        for i in at..d {
            let mut y = out[n * d + i] * alpha[n];
            for (w, v) in w[..visible].iter().zip(v.chunks_exact(d)) {
                y += w * half::f16::from_bits(v[i]).to_f32();
            }
            out[n * d + i] = y;
        }
    }
}

fn scores(isa: Isa, q: &[f32], d: usize, k: &[u16], out: &mut [[f32; PAGE]]) {
    dispatch!(isa, scores_generic(q: &[f32], d: usize, k: &[u16], out: &mut [[f32; PAGE]]));
}

fn values(
    isa: Isa,
    w: &[[f32; PAGE]],
    visible: usize,
    v: &[u16],
    alpha: &[f32],
    d: usize,
    out: &mut [f32],
) {
    dispatch!(isa, values_generic(w: &[[f32; PAGE]], visible: usize, v: &[u16], alpha: &[f32], d: usize, out: &mut [f32]));
}

/// Queries that share a reading of the page.
const TOGETHER: usize = 4;

/// Adds one page with `visible` positions (1 to 64) to the running attention of several query heads that
/// share its key/value head. `q` is `[heads, d]`, already scaled by `1/√d`; `out` is `[heads, d]`,
/// unnormalised. Each head's result is the same whichever heads come with it.
pub fn page(
    isa: Isa,
    d: usize,
    q: &[f32],
    k: &[u16],
    v: &[u16],
    visible: usize,
    running: &mut [Running],
    out: &mut [f32],
) {
    let mut first = 0;
    while first < running.len() {
        let n = match running.len() - first {
            n if n >= TOGETHER => TOGETHER,
            2 | 3 => 2,
            _ => 1,
        };
        let mut s = [[0.0_f32; PAGE]; TOGETHER];
        let mut alpha = [0.0_f32; TOGETHER];
        let s = &mut s[..n];
        scores(isa, &q[first * d..], d, k, s);
        for ((s, r), alpha) in s.iter_mut().zip(&mut running[first..]).zip(&mut alpha) {
            let s = &mut s[..visible];
            let max = s.iter().copied().fold(r.max, f32::max);
            s.iter_mut().for_each(|s| *s -= max);
            exp(isa, s);
            *alpha = if r.max == f32::NEG_INFINITY {
                0.0
            } else {
                (r.max - max).exp()
            };
            r.sum = r.sum * *alpha + s.iter().sum::<f32>();
            r.max = max;
        }
        let out = &mut out[first * d..(first + n) * d];
        values(isa, s, visible, v, &alpha, d, out);
        first += n;
    }
}
