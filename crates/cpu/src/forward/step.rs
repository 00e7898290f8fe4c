//! One decoded token: the whole team walks all layers together and meets at a barrier where one phase needs
//! what another wrote, three to five times a layer.
//!
//! What a phase reads whole (a normed or gated row of a few thousand numbers) each thread computes and
//! quantises for itself: that costs a microsecond and saves a barrier. What a phase writes is cut into pieces
//! of 16 channels: the rows of B, C and x that one channel needs lie with one thread, as do gate and up, a
//! head's rows with their norm and rotation, and the down rows of all chosen experts with their weighted sum.
//!
//! Every number comes from the same operations in the same order as in a chunk ([`super::chunk`]), so a
//! decoded token and a prefilled one leave the same bits.

use std::sync::atomic::AtomicUsize;

use engine::{PAGE, Result};
use lfm2::config::{Config, LayerKind};
use lfm2::reference::{Numerics, route};

use super::{Context, attention};
use crate::kernels::dot::{self, TILE};
use crate::kernels::quantise::{Acts, quantise};
use crate::kernels::{float, rows};
use crate::model::{Ffn, Layer, Mixer, Model, Swiglu};
use crate::pack::{Matrix, STEP, Tile};
use crate::state::{Memory, PagesView, State};
use crate::team::{Barrier, Disjoint, Pieces};

/// Buffers kept between tokens.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// Residual stream `[hidden]`.
    x: Vec<f32>,
    /// What the mixer hands to its output projection.
    mixed: Vec<f32>,
    /// Query heads, normed, rotated and scaled.
    q: Vec<f32>,
    /// Router logits.
    scores: Vec<f32>,
    /// `silu(gate) ⊙ up` of the block, or of the chosen experts one after the other.
    inner: Vec<f32>,
    rope: (Vec<f32>, Vec<f32>),
    threads: Vec<Thread>,
    counters: Vec<AtomicUsize>,
}

/// What each thread keeps for itself.
#[derive(Debug, Default)]
struct Thread {
    input: Input,
    inner: Vec<Input>,
}

/// A row, and its quantised form where there is one.
#[derive(Debug, Default)]
struct Input {
    x: Vec<f32>,
    acts: Acts,
}

impl Input {
    /// Fills `cols` numbers with `f` and quantises them.
    fn fill(&mut self, cx: &Context<'_>, cols: usize, f: impl FnOnce(&mut [f32])) {
        self.x.resize(cols, 0.0);
        f(&mut self.x);
        if cols.is_multiple_of(STEP) {
            self.acts.resize(1, cols, cx.precision.terms() == 2);
            quantise(cx.isa, &self.x, &mut self.acts.row_mut(0));
        }
    }
}

/// Whether a model's shapes cut into whole pieces; otherwise a token is decoded as a chunk of one.
pub(crate) fn fits(c: &Config) -> bool {
    let widths = [
        c.hidden_size,
        c.head_dim,
        c.ffn_size,
        c.moe.as_ref().map_or(TILE, |m| m.width),
    ];
    widths.iter().all(|w| w.is_multiple_of(TILE))
}

/// Rows `16·i..` of `w` times `input`; rows past the end are left out. `next` is the tile read after it.
fn tile(
    cx: &Context<'_>,
    w: &Matrix,
    i: usize,
    next: Option<(&Matrix, usize)>,
    input: &Input,
) -> [f32; TILE] {
    let mut out = [[0.0; TILE]];
    match w.tile(i) {
        Tile::Quantised(format, bytes) => {
            let next = next.and_then(|(m, i)| match m.tile(i) {
                Tile::Quantised(_, bytes) => Some(bytes),
                Tile::Plain(_) => None,
            });
            let tile = dot::Tile {
                format,
                cols: w.cols,
                bytes,
                next,
            };
            dot::tile(cx.isa, tile, &[input.acts.row(0)], &mut out);
        }
        Tile::Plain(first) => {
            for (r, o) in (first..w.rows).zip(&mut out[0]) {
                *o = float::dot(cx.isa, w.plain_row(r), &input.x);
            }
        }
    }
    out[0]
}

/// The token as every thread sees it.
struct Token<'a> {
    cx: &'a Context<'a>,
    c: &'a Config,
    thread: usize,
    barrier: &'a Barrier,
    counters: &'a [AtomicUsize],
    phase: usize,
    position: usize,
    x: &'a Disjoint<'a, f32>,
    mixed: &'a Disjoint<'a, f32>,
    q: &'a Disjoint<'a, f32>,
    scores: &'a Disjoint<'a, f32>,
    inner: &'a Disjoint<'a, f32>,
    windows: &'a Disjoint<'a, f32>,
    pages: &'a PagesView,
    rope: (&'a [f32], &'a [f32]),
}

/// Phases of a layer, at most.
const PHASES: usize = 6;

/// Feeds one token, advances `state` and leaves the logits in `logits`.
pub(crate) fn step(
    cx: &Context<'_>,
    model: &Model,
    memory: &mut Memory,
    state: &mut State,
    b: &mut Buffers,
    token: u32,
    logits: &mut Vec<f32>,
) -> Result<()> {
    let c = &model.config;
    memory.reserve(state, state.position + 1)?;
    let experts = c.moe.as_ref().map_or(0, |m| m.experts);
    let inner = c.moe.as_ref().map_or(0, |m| m.experts_per_token * m.width);
    b.x.resize(c.hidden_size, 0.0);
    b.mixed.resize(c.hidden_size.max(c.heads * c.head_dim), 0.0);
    b.q.resize(c.heads * c.head_dim, 0.0);
    b.scores.resize(experts, 0.0);
    b.inner.resize(inner.max(c.ffn_size), 0.0);
    b.threads.resize_with(cx.team.threads(), Thread::default);
    let phases = PHASES * c.layers.len() + 1;
    b.counters.resize_with(phases, AtomicUsize::default);
    b.counters.iter_mut().for_each(|n| *n.get_mut() = 0);
    logits.resize(c.vocab_size, 0.0);
    model.embedding.row_f32(token as usize, &mut b.x);
    attention::rope_table(c, state.position, 1, &mut b.rope);
    let pages = memory.view(state);
    {
        let x = Disjoint::new(&mut b.x);
        let mixed = Disjoint::new(&mut b.mixed);
        let q = Disjoint::new(&mut b.q);
        let scores = Disjoint::new(&mut b.scores);
        let inner = Disjoint::new(&mut b.inner);
        let windows = Disjoint::new(&mut state.windows);
        let out = Disjoint::new(logits);
        let threads = Disjoint::new(&mut b.threads);
        let (position, counters) = (state.position, &b.counters[..]);
        let rope = (&b.rope.0[..], &b.rope.1[..]);
        cx.team.together(&|thread, barrier| {
            // SAFETY: each thread has its own.
            let mine = unsafe { &mut threads.slice(thread..thread + 1)[0] };
            let mut t = Token {
                cx,
                c,
                thread,
                barrier,
                counters,
                phase: 0,
                position,
                x: &x,
                mixed: &mixed,
                q: &q,
                scores: &scores,
                inner: &inner,
                windows: &windows,
                pages: &pages,
                rope,
            };
            let (mut convs, mut attentions) = (0, 0);
            for (i, layer) in model.layers.iter().enumerate() {
                t.phase = PHASES * i;
                let index = match c.layers[i] {
                    LayerKind::Conv => &mut convs,
                    LayerKind::Attention => &mut attentions,
                };
                t.layer(layer, *index, mine);
                *index += 1;
            }
            t.phase = PHASES * model.layers.len();
            t.norm(&model.final_norm, &mut mine.input);
            let w = &model.embedding;
            t.pieces(w.tiles_len(), |i, next| {
                let y = tile(cx, w, i, next.map(|n| (w, n)), &mine.input);
                let rows = i * TILE..((i + 1) * TILE).min(w.rows);
                // SAFETY: a piece is taken once.
                let to = unsafe { out.slice(rows) };
                to.copy_from_slice(&y[..to.len()]);
            });
        });
    }
    state.position += 1;
    if state.position.is_multiple_of(PAGE) {
        memory.checkpoint(state);
    }
    Ok(())
}

impl Token<'_> {
    /// Runs this thread's pieces of a phase; `f` also hears which comes next.
    fn pieces(&self, n: usize, mut f: impl FnMut(usize, Option<usize>)) {
        let rest = &self.counters[self.phase];
        let mut pieces = Pieces::new(n, self.thread, self.cx.team.threads(), rest);
        let mut piece = pieces.next();
        while let Some(i) = piece {
            piece = pieces.next();
            f(i, piece);
        }
    }

    /// Ends a phase.
    fn meet(&mut self) {
        self.barrier.wait();
        self.phase += 1;
    }

    /// RMS norm of the residual stream. Nobody writes it in a phase that begins so.
    fn norm(&self, w: &[f32], input: &mut Input) {
        let h = self.c.hidden_size;
        // SAFETY: the residual stream is only written in phases that do not read it whole.
        let x = unsafe { self.x.read(0..h) };
        input.fill(self.cx, h, |out| {
            rows::rms(self.cx.isa, x, w, self.c.norm_eps, out);
        });
    }

    fn layer(&mut self, layer: &Layer, index: usize, mine: &mut Thread) {
        self.norm(&layer.operator_norm, &mut mine.input);
        let output = match &layer.mixer {
            Mixer::Conv {
                input,
                taps,
                output,
            } => {
                self.conv(input, taps, index, &mine.input);
                output
            }
            Mixer::Attention {
                q,
                k,
                v,
                q_norm,
                k_norm,
                output,
            } => {
                self.project([q, k, v], [q_norm, k_norm], index, &mine.input);
                self.meet();
                self.attend(index);
                output
            }
        };
        self.meet();
        self.output(output, &mut mine.input);
        self.meet();
        self.norm(&layer.ffn_norm, &mut mine.input);
        match &layer.ffn {
            Ffn::Dense(w) => {
                self.gate_up(&[w], &mine.input);
                self.meet();
                self.down(&[(w, None)], &mut mine.inner);
            }
            Ffn::Moe {
                router,
                bias,
                experts,
            } => {
                self.pieces(router.tiles_len(), |i, _| {
                    let y = tile(self.cx, router, i, None, &mine.input);
                    let rows = i * TILE..((i + 1) * TILE).min(router.rows);
                    // SAFETY: a piece is taken once.
                    let to = unsafe { self.scores.slice(rows) };
                    to.copy_from_slice(&y[..to.len()]);
                });
                self.meet();
                // SAFETY: written before the barrier, not again before the next layer.
                let scores = unsafe { self.scores.read(0..router.rows) };
                let chosen = route(Numerics::F32, self.c.moe(), scores, bias.as_deref());
                let gate_up: Vec<&Swiglu> = chosen.iter().map(|(e, _)| &experts[*e]).collect();
                self.gate_up(&gate_up, &mine.input);
                self.meet();
                let down: Vec<_> = chosen
                    .iter()
                    .map(|(e, w)| (&experts[*e], Some(*w)))
                    .collect();
                self.down(&down, &mut mine.inner);
            }
        }
        self.meet();
    }

    /// The input projection with the convolution of its channels: writes `mixed` and this layer's window.
    fn conv(&self, w: &Matrix, taps: &[f32], index: usize, input: &Input) {
        let h = self.c.hidden_size;
        let keep = self.c.conv_kernel - 1;
        let tiles = h / TILE;
        self.pieces(tiles, |i, next| {
            let part = |p: usize, i: usize| (w, p * tiles + i);
            let bs = tile(self.cx, w, i, Some(part(1, i)), input);
            let cs = tile(self.cx, w, tiles + i, Some(part(2, i)), input);
            let xs = tile(self.cx, w, 2 * tiles + i, next.map(|n| part(0, n)), input);
            let mut y = [0.0_f32; TILE];
            let mut u = [0.0_f32; TILE];
            for r in 0..TILE {
                u[r] = bs[r] * xs[r];
            }
            for j in 0..=keep {
                let at = i * TILE;
                let k = &taps[j * h + at..][..TILE];
                if j == keep {
                    for r in 0..TILE {
                        y[r] += k[r] * u[r];
                    }
                } else {
                    let row = (index * keep + j) * h + at;
                    // SAFETY: these channels of the window belong to this piece.
                    let old = unsafe { self.windows.read(row..row + TILE) };
                    for r in 0..TILE {
                        y[r] += k[r] * old[r];
                    }
                }
            }
            for r in 0..TILE {
                y[r] *= cs[r];
            }
            for j in 0..keep {
                let row = (index * keep + j) * h + i * TILE;
                let newer = if j + 1 == keep {
                    u
                } else {
                    // SAFETY: as above.
                    let newer = unsafe { self.windows.read(row + h..row + h + TILE) };
                    *newer.first_chunk().expect("a whole tile")
                };
                // SAFETY: as above.
                unsafe { self.windows.slice(row..row + TILE) }.copy_from_slice(&newer);
            }
            // SAFETY: a piece is taken once.
            unsafe { self.mixed.slice(i * TILE..(i + 1) * TILE) }.copy_from_slice(&y);
        });
    }

    /// Query, key and value heads: writes `q` and the page.
    fn project(&self, w: [&Matrix; 3], norms: [&[f32]; 2], index: usize, input: &Input) {
        let (c, d) = (self.c, self.c.head_dim);
        let place = |i: usize| {
            if i < c.heads {
                (0, i)
            } else {
                let i = i - c.heads;
                (1 + i / c.kv_heads, i % c.kv_heads)
            }
        };
        let scale = 1.0 / (d as f32).sqrt();
        let tiles = d / TILE;
        self.pieces(c.heads + 2 * c.kv_heads, |i, next| {
            let (of, head) = place(i);
            let mut row = [0.0_f32; 256];
            let row = &mut row[..d];
            for (j, out) in row.chunks_exact_mut(TILE).enumerate() {
                let next = if j + 1 < tiles {
                    Some((w[of], head * tiles + j + 1))
                } else {
                    next.map(|n| {
                        let (of, head) = place(n);
                        (w[of], head * tiles)
                    })
                };
                out.copy_from_slice(&tile(self.cx, w[of], head * tiles + j, next, input));
            }
            if of < 2 {
                attention::norm_rope(self.cx, c, row, norms[of], self.rope.0, self.rope.1);
            }
            if of == 0 {
                row.iter_mut().for_each(|q| *q *= scale);
                // SAFETY: a piece is taken once.
                unsafe { self.q.slice(head * d..(head + 1) * d) }.copy_from_slice(row);
            } else {
                let p = self.position;
                // SAFETY: this half of this head belongs to this piece, and nobody reads the layer's keys
                // and values before the barrier.
                unsafe {
                    self.pages
                        .store(p / PAGE, index, head, p % PAGE, of == 2, row);
                }
            }
        });
    }

    /// Attention of the query heads of each key/value head: reads `q`, writes `mixed`.
    fn attend(&self, index: usize) {
        let (c, d) = (self.c, self.c.head_dim);
        let width = c.heads / c.kv_heads * d;
        self.pieces(c.kv_heads, |head, _| {
            // SAFETY: `q`, keys and values were written before the barrier; a piece is taken once.
            unsafe {
                let q = self.q.read(head * width..(head + 1) * width);
                let out = self.mixed.slice(head * width..(head + 1) * width);
                let end = self.position + 1;
                attention::heads(self.cx.isa, d, q, self.pages.count(), end, out, |p| {
                    self.pages.head(p, index, head)
                });
            }
        });
    }

    /// The mixer's output projection, added to the residual stream.
    fn output(&self, w: &Matrix, input: &mut Input) {
        // SAFETY: written before the barrier.
        let mixed = unsafe { self.mixed.read(0..w.cols) };
        input.fill(self.cx, w.cols, |x| x.copy_from_slice(mixed));
        self.pieces(w.rows / TILE, |i, next| {
            let y = tile(self.cx, w, i, next.map(|n| (w, n)), input);
            // SAFETY: a piece is taken once, and nobody reads the stream in this phase.
            let x = unsafe { self.x.slice(i * TILE..(i + 1) * TILE) };
            x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
        });
    }

    /// `silu(gate) ⊙ up` of one or several blocks as one list of rows.
    fn gate_up(&self, blocks: &[&Swiglu], input: &Input) {
        let tiles = blocks[0].gate.rows / TILE;
        self.pieces(blocks.len() * tiles, |i, next| {
            let w = blocks[i / tiles];
            let (i, at) = (i % tiles, i * TILE);
            let next = next.map(|n| (&blocks[n / tiles].gate, n % tiles));
            let mut gate = tile(self.cx, &w.gate, i, Some((&w.up, i)), input);
            let up = tile(self.cx, &w.up, i, next, input);
            rows::swiglu(self.cx.isa, &mut gate, &up);
            // SAFETY: a piece is taken once.
            unsafe { self.inner.slice(at..at + TILE) }.copy_from_slice(&gate);
        });
    }

    /// The down projections, weighted and added to the residual stream.
    fn down(&self, blocks: &[(&Swiglu, Option<f32>)], inputs: &mut Vec<Input>) {
        let width = blocks[0].0.down.cols;
        if inputs.len() < blocks.len() {
            inputs.resize_with(blocks.len(), Input::default);
        }
        for (i, input) in inputs.iter_mut().enumerate().take(blocks.len()) {
            // SAFETY: written before the barrier.
            let inner = unsafe { self.inner.read(i * width..(i + 1) * width) };
            input.fill(self.cx, width, |x| x.copy_from_slice(inner));
        }
        self.pieces(self.c.hidden_size / TILE, |i, next| {
            let mut y = [0.0_f32; TILE];
            for (e, (w, weight)) in blocks.iter().enumerate() {
                let next = match blocks.get(e + 1) {
                    Some((w, _)) => Some((&w.down, i)),
                    None => next.map(|n| (&blocks[0].0.down, n)),
                };
                let z = tile(self.cx, &w.down, i, next, &inputs[e]);
                for (y, z) in y.iter_mut().zip(z) {
                    match weight {
                        Some(weight) => *y += weight * z,
                        None => *y = z,
                    }
                }
            }
            // SAFETY: a piece is taken once, and nobody reads the stream in this phase.
            let x = unsafe { self.x.slice(i * TILE..(i + 1) * TILE) };
            x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
        });
    }
}
