//! Grouped-query attention of a chunk over paged keys and values.

use super::{Context, Job, Scratch, fit, matmul};
use crate::kernels::attend::{self, Running};
use crate::kernels::rows;
use crate::pack::Matrix;
use crate::state::{Memory, State};
use engine::PAGE;
use lfm2::config::Config;

/// The weights of one attention layer.
pub(super) struct Weights<'a> {
    pub(super) q: &'a Matrix,
    pub(super) k: &'a Matrix,
    pub(super) v: &'a Matrix,
    pub(super) q_norm: &'a [f32],
    pub(super) k_norm: &'a [f32],
    pub(super) output: &'a Matrix,
}

/// cos and sin of `position · θ^(−2i/d)` for `t` positions. Angles in double precision.
pub(super) fn rope_table(c: &Config, position: usize, t: usize, table: &mut (Vec<f32>, Vec<f32>)) {
    table.0.clear();
    table.1.clear();
    for p in position..position + t {
        for i in 0..c.head_dim / 2 {
            let angle = p as f64 * c.rope_theta.powf(-2.0 * i as f64 / c.head_dim as f64);
            let (sin, cos) = angle.sin_cos();
            table.0.push(cos as f32);
            table.1.push(sin as f32);
        }
    }
}

/// Per head: RMS norm, then rotation of the pairs `(i, i + d/2)`.
pub(super) fn norm_rope(
    cx: &Context<'_>,
    c: &Config,
    heads: &mut [f32],
    w: &[f32],
    cos: &[f32],
    sin: &[f32],
) {
    let d = c.head_dim;
    let mut normed = [0.0_f32; 256];
    let normed = &mut normed[..d];
    for head in heads.chunks_exact_mut(d) {
        rows::rms(cx.isa, head, w, c.norm_eps, normed);
        let (a, b) = normed.split_at(d / 2);
        let (x, y) = head.split_at_mut(d / 2);
        for i in 0..d / 2 {
            x[i] = a[i] * cos[i] - b[i] * sin[i];
            y[i] = b[i] * cos[i] + a[i] * sin[i];
        }
    }
}

/// Attention of one token's query heads that share a key/value head over all positions before `end`; `page`
/// gives the keys and values of each page. Pages are taken in order.
pub(super) fn heads<'a>(
    isa: crate::Isa,
    d: usize,
    q: &[f32],
    pages: usize,
    end: usize,
    out: &mut [f32],
    page: impl Fn(usize) -> (&'a [u16], &'a [u16]),
) {
    out.fill(0.0);
    let mut running = [Running::default(); 64];
    let running = &mut running[..q.len() / d];
    for p in 0..pages.min(end.div_ceil(PAGE)) {
        let (k, v) = page(p);
        let visible = (end - p * PAGE).min(PAGE);
        attend::page(isa, d, q, k, v, visible, running, out);
    }
    for (out, r) in out.chunks_exact_mut(d).zip(running) {
        let inv = 1.0 / r.sum;
        out.iter_mut().for_each(|y| *y *= inv);
    }
}

/// Reads `s.input`, appends keys and values of attention layer `index`, leaves the output in `s.narrow`.
pub(super) fn forward(
    cx: &Context<'_>,
    c: &Config,
    s: &mut Scratch,
    memory: &mut Memory,
    state: &State,
    index: usize,
    w: &Weights<'_>,
    t: usize,
) {
    let d = c.head_dim;
    let (q_width, kv_width) = (c.heads * d, c.kv_heads * d);
    fit(&mut s.wide, t * q_width);
    fit(&mut s.wide2, t * kv_width);
    fit(&mut s.wide3, t * kv_width);
    matmul(
        cx,
        &mut s.buffers,
        &mut [
            Job::all(w.q, &s.input, &mut s.wide),
            Job::all(w.k, &s.input, &mut s.wide2),
            Job::all(w.v, &s.input, &mut s.wide3),
        ],
    );
    let (cos, sin) = &s.rope;
    let half = d / 2;
    let scale = 1.0 / (d as f32).sqrt();
    cx.team.for_chunks(&mut s.wide, d, |i, head| {
        let at = i / c.heads * half;
        norm_rope(
            cx,
            c,
            head,
            w.q_norm,
            &cos[at..at + half],
            &sin[at..at + half],
        );
        head.iter_mut().for_each(|q| *q *= scale);
    });
    for (i, (k, v)) in s
        .wide2
        .chunks_exact_mut(kv_width)
        .zip(s.wide3.chunks_exact(kv_width))
        .enumerate()
    {
        norm_rope(
            cx,
            c,
            k,
            w.k_norm,
            &cos[i * half..][..half],
            &sin[i * half..][..half],
        );
        let p = state.position + i;
        memory.store(state.table.pages()[p / PAGE].id(), index, p % PAGE, k, v);
    }

    let (q, memory, group) = (&s.wide, &*memory, c.heads / c.kv_heads);
    let pages = state.table.pages();
    fit(&mut s.narrow, t * q_width);
    cx.team.for_chunks(&mut s.narrow, group * d, |i, out| {
        let (token, head) = (i / c.kv_heads, i % c.kv_heads);
        let q = &q[i * group * d..][..group * d];
        let end = state.position + token + 1;
        heads(cx.isa, d, q, pages.len(), end, out, |p| {
            memory.head(pages[p].id(), index, head)
        });
    });
    let mixed = &s.narrow;
    s.inner.fill(cx, t, q_width, |r, out| {
        out.copy_from_slice(&mixed[r * q_width..][..q_width]);
    });
    fit(&mut s.narrow, t * c.hidden_size);
    matmul(
        cx,
        &mut s.buffers,
        &mut [Job::all(w.output, &s.inner, &mut s.narrow)],
    );
}
