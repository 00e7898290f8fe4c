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

#[inline(always)]
fn scores_generic<V: Vector>(q: &[f32], k: &[u16], out: &mut [f32; PAGE]) {
    // 64 positions are 4 vectors on AVX-512, 8 on AVX2, 16 on NEON; four at a time stay in registers.
    for block in (0..PAGE).step_by(4 * V::LANES) {
        let mut s = [V::splat(0.0); 4];
        for (q, k) in q.iter().zip(k.chunks_exact(PAGE)) {
            let q = V::splat(*q);
            for (j, s) in s.iter_mut().enumerate() {
                *s = q.fma(V::load_f16(&k[block + j * V::LANES..]), *s);
            }
        }
        for (j, s) in s.iter().enumerate() {
            s.store(&mut out[block + j * V::LANES..]);
        }
    }
}

#[inline(always)]
fn values_generic<V: Vector>(w: &[f32], v: &[u16], alpha: f32, out: &mut [f32]) {
    let d = out.len();
    let whole = d - d % V::LANES;
    for at in (0..whole).step_by(V::LANES) {
        let mut y = V::load(&out[at..]).mul(V::splat(alpha));
        for (w, v) in w.iter().zip(v.chunks_exact(d)) {
            y = V::splat(*w).fma(V::load_f16(&v[at..]), y);
        }
        y.store(&mut out[at..]);
    }
    for at in whole..d {
        let mut y = out[at] * alpha;
        for (w, v) in w.iter().zip(v.chunks_exact(d)) {
            y += w * half::f16::from_bits(v[at]).to_f32();
        }
        out[at] = y;
    }
}

fn scores(isa: Isa, q: &[f32], k: &[u16], out: &mut [f32; PAGE]) {
    dispatch!(isa, scores_generic(q: &[f32], k: &[u16], out: &mut [f32; PAGE]));
}

fn values(isa: Isa, w: &[f32], v: &[u16], alpha: f32, out: &mut [f32]) {
    dispatch!(isa, values_generic(w: &[f32], v: &[u16], alpha: f32, out: &mut [f32]));
}

/// Adds one page with `visible` positions (1 to 64) to one query head's running attention. `q` is already
/// scaled by `1/√head_dim`; `out` is `[head_dim]`, unnormalised.
pub fn page(
    isa: Isa,
    q: &[f32],
    k: &[u16],
    v: &[u16],
    visible: usize,
    r: &mut Running,
    out: &mut [f32],
) {
    let mut s = [0.0_f32; PAGE];
    scores(isa, q, k, &mut s);
    let s = &mut s[..visible];
    let max = s.iter().copied().fold(r.max, f32::max);
    s.iter_mut().for_each(|s| *s -= max);
    exp(isa, s);
    let alpha = if r.max == f32::NEG_INFINITY {
        0.0
    } else {
        (r.max - max).exp()
    };
    r.sum = r.sum * alpha + s.iter().sum::<f32>();
    r.max = max;
    values(isa, s, v, alpha, out);
}
