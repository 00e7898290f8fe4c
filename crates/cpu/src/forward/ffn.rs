//! The feed-forward blocks of a chunk.

use lfm2::config::{Config, MoeConfig};
use lfm2::reference::{Numerics, route};

use super::matmul::Rows;
use super::{Context, Job, Scratch, add, fit, matmul};
use crate::kernels::rows;
use crate::model::{Ffn, Swiglu};
use crate::pack::Matrix;

/// Who goes where in one chunk.
#[derive(Debug, Default)]
pub(super) struct Routing {
    /// Router logits, `[T, experts]`.
    logits: Vec<f32>,
    /// Per token and choice: row in the experts' buffers, and weight.
    slots: Vec<(usize, f32)>,
    /// Per expert: its tokens, in order.
    tokens: Vec<Vec<usize>>,
}

/// Reads `s.input`, adds the block's output to `s.x`.
pub(super) fn forward(cx: &Context<'_>, c: &Config, s: &mut Scratch, ffn: &Ffn, t: usize) {
    match ffn {
        Ffn::Dense(w) => dense(cx, s, w, t),
        Ffn::Moe {
            router,
            bias,
            experts,
        } => {
            choose(cx, c.moe(), s, router, bias.as_deref(), t);
            moe(cx, c, s, experts, t);
        }
    }
}

fn dense(cx: &Context<'_>, s: &mut Scratch, w: &Swiglu, t: usize) {
    let width = w.gate.rows;
    fit(&mut s.wide, t * width);
    fit(&mut s.wide2, t * width);
    matmul(
        cx,
        &mut s.buffers,
        &mut [
            Job::all(&w.gate, &s.input, &mut s.wide),
            Job::all(&w.up, &s.input, &mut s.wide2),
        ],
    );
    activate(cx, s, t, width);
    fit(&mut s.narrow, t * w.down.rows);
    matmul(
        cx,
        &mut s.buffers,
        &mut [Job::all(&w.down, &s.inner, &mut s.narrow)],
    );
    add(cx, &mut s.x, &s.narrow);
}

/// `inner = silu(wide) ⊙ wide2`.
fn activate(cx: &Context<'_>, s: &mut Scratch, n: usize, width: usize) {
    let (gate, up) = (&s.wide, &s.wide2);
    s.inner.fill(cx, n, width, |r, out| {
        out.copy_from_slice(&gate[r * width..][..width]);
        rows::swiglu(cx.isa, out, &up[r * width..][..width]);
    });
}

/// Routes every token and lays the experts' rows one expert after the other.
fn choose(
    cx: &Context<'_>,
    m: &MoeConfig,
    s: &mut Scratch,
    router: &Matrix,
    bias: Option<&[f32]>,
    t: usize,
) {
    let r = &mut s.routing;
    fit(&mut r.logits, t * m.experts);
    matmul(
        cx,
        &mut s.buffers,
        &mut [Job::all(router, &s.input, &mut r.logits)],
    );
    let routes: Vec<Vec<(usize, f32)>> = r
        .logits
        .chunks_exact(m.experts)
        .map(|l| route(Numerics::F32, m, l, bias))
        .collect();
    r.tokens.resize(m.experts, Vec::new());
    r.tokens.iter_mut().for_each(Vec::clear);
    for (token, route) in routes.iter().enumerate() {
        route.iter().for_each(|(e, _)| r.tokens[*e].push(token));
    }
    let mut next = 0;
    let mut row: Vec<usize> = r
        .tokens
        .iter()
        .map(|t| {
            next += t.len();
            next - t.len()
        })
        .collect();
    r.slots.clear();
    for (e, w) in routes.into_iter().flatten() {
        r.slots.push((row[e], w));
        row[e] += 1;
    }
}

fn moe(cx: &Context<'_>, c: &Config, s: &mut Scratch, experts: &[Swiglu], t: usize) {
    let m = c.moe();
    let (h, n) = (c.hidden_size, t * m.experts_per_token);
    fit(&mut s.wide, n * m.width);
    fit(&mut s.wide2, n * m.width);
    let active = || {
        experts
            .iter()
            .zip(&s.routing.tokens)
            .filter(|(_, t)| !t.is_empty())
    };
    {
        let (mut gate, mut up) = (&mut s.wide[..], &mut s.wide2[..]);
        let mut jobs = Vec::with_capacity(2 * m.experts);
        for (w, tokens) in active() {
            let (g, rest) = gate.split_at_mut(tokens.len() * m.width);
            gate = rest;
            let (u, rest) = up.split_at_mut(tokens.len() * m.width);
            up = rest;
            jobs.push(Job::some(&w.gate, &s.input, Rows::List(tokens), g));
            jobs.push(Job::some(&w.up, &s.input, Rows::List(tokens), u));
        }
        matmul(cx, &mut s.buffers, &mut jobs);
    }
    activate(cx, s, n, m.width);
    fit(&mut s.narrow, n * h);
    {
        let mut out = &mut s.narrow[..];
        let mut jobs = Vec::with_capacity(m.experts);
        let mut first = 0;
        for (w, tokens) in experts
            .iter()
            .zip(&s.routing.tokens)
            .filter(|(_, t)| !t.is_empty())
        {
            let (o, rest) = out.split_at_mut(tokens.len() * h);
            out = rest;
            jobs.push(Job::some(
                &w.down,
                &s.inner,
                Rows::Range(first..first + tokens.len()),
                o,
            ));
            first += tokens.len();
        }
        matmul(cx, &mut s.buffers, &mut jobs);
    }
    // Each token adds its experts in the order of choice: the same sum for any chunk.
    let (slots, z, k) = (&s.routing.slots, &s.narrow, m.experts_per_token);
    cx.team.for_chunks(&mut s.x, h, |i, x| {
        let mut y = vec![0.0_f32; h];
        for (row, w) in &slots[i * k..][..k] {
            for (y, z) in y.iter_mut().zip(&z[row * h..][..h]) {
                *y += w * z;
            }
        }
        for (x, y) in x.iter_mut().zip(&y) {
            *x += y;
        }
    });
}
