//! The feed-forward blocks: dense SwiGLU and routed experts.

use super::{Matrix, Numerics, Swiglu, ops};
use crate::config::MoeConfig;

/// `down(silu(gate·h) ⊙ (up·h))`.
pub(super) fn dense(n: Numerics, h: &[f32], w: &Swiglu) -> Vec<f32> {
    let mut g = ops::linear(n, h, &w.gate);
    let u = ops::linear(n, h, &w.up);
    for (g, u) in g.iter_mut().zip(&u) {
        *g = n.swiglu(*g, *u);
    }
    ops::linear(n, &g, &w.down)
}

/// Chooses experts from router logits.
///
/// Scores are the sigmoid of the logits. The bias steers the *choice* only; the weights come from the
/// unbiased scores of the chosen, divided by their sum + 1e-6 when `norm_topk_prob`, times
/// `routed_scaling_factor`. Result: `(expert, weight)`, best biased score first; the lower index wins a tie.
pub fn route(
    n: Numerics,
    m: &MoeConfig,
    logits: &[f32],
    bias: Option<&[f32]>,
) -> Vec<(usize, f32)> {
    let scores: Vec<f32> = logits.iter().map(|l| n.sigmoid(*l)).collect();
    let biased = |e: usize| scores[e] + bias.map_or(0.0, |b| b[e]);
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| biased(*b).total_cmp(&biased(*a)).then(a.cmp(b)));
    order.truncate(m.experts_per_token);
    let mut sum = 0.0;
    for e in &order {
        sum = n.round(sum + scores[*e]);
    }
    order
        .into_iter()
        .map(|e| {
            let mut w = scores[e];
            if m.norm_topk_prob {
                w = n.round(w / n.round(sum + 1e-6));
            }
            (e, n.round(w * m.routed_scaling_factor))
        })
        .collect()
}

/// The routed block, and each token's route.
pub(super) fn moe(
    n: Numerics,
    m: &MoeConfig,
    h: &[f32],
    router: &Matrix,
    bias: Option<&[f32]>,
    experts: &[Swiglu],
) -> (Vec<f32>, Vec<Vec<(usize, f32)>>) {
    let width = router.cols;
    let mut out = Vec::with_capacity(h.len());
    let mut routes = Vec::new();
    for row in h.chunks_exact(width) {
        let route = route(n, m, &ops::linear(n, row, router), bias);
        let mut y = vec![0.0_f32; width];
        for (e, w) in &route {
            let z = dense(n, row, &experts[*e]);
            for (y, z) in y.iter_mut().zip(&z) {
                *y = n.round(*y + n.round(w * z));
            }
        }
        out.extend(y);
        routes.push(route);
    }
    (out, routes)
}
