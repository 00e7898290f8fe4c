//! Several matrix products in one parallel region.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::activations::Activations;
use crate::forward::Context;
use crate::kernels::dot::{self, Act, TILE};
use crate::kernels::float;
use crate::kernels::gemm::{self, Panels};
use crate::pack::{Matrix, STEP, Tile};
use crate::team::Disjoint;

/// `out[i] = x[rows[i]] · wᵀ`.
pub(crate) struct Job<'a> {
    weights: &'a Matrix,
    x: &'a Activations,
    rows: Rows<'a>,
    out: Disjoint<'a, f32>,
}

/// Which rows of the activations take part.
pub(crate) enum Rows<'a> {
    Range(Range<usize>),
    List(&'a [usize]),
}

impl Rows<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Range(r) => r.len(),
            Self::List(l) => l.len(),
        }
    }

    fn get(&self, i: usize) -> usize {
        match self {
            Self::Range(r) => r.start + i,
            Self::List(l) => l[i],
        }
    }
}

impl<'a> Job<'a> {
    /// Whether both read the same rows for weights grouped alike.
    fn reads_like(&self, o: &Self) -> bool {
        std::ptr::eq(self.x, o.x)
            && self.weights.format().map(|f| f.group) == o.weights.format().map(|f| f.group)
            && match (&self.rows, &o.rows) {
                (Rows::Range(a), Rows::Range(b)) => a == b,
                (Rows::List(a), Rows::List(b)) => std::ptr::eq(*a, *b),
                _ => false,
            }
    }

    /// All rows of `x`; `out` is `[x.rows, weights.rows]`.
    pub(crate) fn all(weights: &'a Matrix, x: &'a Activations, out: &'a mut [f32]) -> Self {
        Self::some(weights, x, Rows::Range(0..x.rows), out)
    }

    /// Some rows of `x`; `out` is `[rows, weights.rows]`.
    pub(crate) fn some(
        weights: &'a Matrix,
        x: &'a Activations,
        rows: Rows<'a>,
        out: &'a mut [f32],
    ) -> Self {
        assert_eq!(weights.cols, x.cols);
        assert_eq!(out.len(), rows.len() * weights.rows);
        Self {
            weights,
            x,
            rows,
            out: Disjoint::new(out),
        }
    }
}

/// Tiles a thread takes at a time: enough to stream, few enough to share the rest evenly.
const TAKE: usize = 8;

/// Buffers of the products of many tokens, kept between calls.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    panels: Vec<Panels>,
    scratch: Vec<gemm::Scratch>,
}

/// Runs all jobs, their tiles shared by the team.
pub(crate) fn matmul(cx: &Context<'_>, b: &mut Buffers, jobs: &mut [Job<'_>]) {
    let many = |j: &Job<'_>| {
        gemm::exists(cx.isa) && j.weights.is_quantised() && j.rows.len() >= gemm::MANY
    };
    let jobs = &*jobs;
    // Jobs that read the same rows share one layout of them.
    let mut layouts: Vec<usize> = Vec::with_capacity(jobs.len());
    for (i, j) in jobs.iter().enumerate() {
        let same = (0..i).find(|k| many(j) && j.reads_like(&jobs[*k]));
        layouts.push(same.map_or(i, |k| layouts[k]));
    }
    if b.panels.len() < jobs.len() {
        b.panels.resize_with(jobs.len(), Panels::default);
    }
    b.scratch
        .resize_with(cx.team.threads(), gemm::Scratch::default);
    let to_fill: Vec<usize> = (0..jobs.len())
        .filter(|i| many(&jobs[*i]) && layouts[*i] == *i)
        .collect();
    if !to_fill.is_empty() {
        let panels = Disjoint::new(&mut b.panels);
        let next = AtomicUsize::new(0);
        cx.team.run(&|_| {
            while let Some(i) = to_fill.get(next.fetch_add(1, Ordering::Relaxed)) {
                let j = &jobs[*i];
                // SAFETY: each index is taken once.
                let p = unsafe { &mut panels.slice(*i..*i + 1)[0] };
                let group = j.weights.format().map_or(STEP, |f| f.group);
                p.fill(|r| j.x.act(j.rows.get(r)), j.rows.len(), j.x.cols, group);
            }
        });
    }
    let next = AtomicUsize::new(0);
    let takes: Vec<usize> = jobs
        .iter()
        .map(|j| j.weights.tiles_len().div_ceil(TAKE))
        .collect();
    let panels = &b.panels;
    let scratch = Disjoint::new(&mut b.scratch);
    cx.team.run(&|thread| {
        // SAFETY: each thread has its own.
        let scratch = unsafe { &mut scratch.slice(thread..thread + 1)[0] };
        let (mut job, mut base) = (0, 0);
        let mut gathered: (usize, Vec<Act<'_>>) = (usize::MAX, Vec::new());
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            while job < jobs.len() && i - base >= takes[job] {
                base += takes[job];
                job += 1;
            }
            let Some(j) = jobs.get(job) else { return };
            let first = (i - base) * TAKE;
            let tiles = first..(first + TAKE).min(j.weights.tiles_len());
            if many(j) {
                for pair in (tiles.start..tiles.end).step_by(2) {
                    two(
                        cx,
                        j,
                        pair..(pair + 2).min(tiles.end),
                        &panels[layouts[job]],
                        scratch,
                    );
                }
                continue;
            }
            if gathered.0 != job {
                gathered.0 = job;
                gathered.1.clear();
                if j.weights.is_quantised() {
                    gathered
                        .1
                        .extend((0..j.rows.len()).map(|r| j.x.act(j.rows.get(r))));
                }
            }
            for tile in tiles {
                one(cx, j, tile, &gathered.1);
            }
        }
    });
}

/// One or two tiles for many tokens.
fn two(
    cx: &Context<'_>,
    j: &Job<'_>,
    tiles: Range<usize>,
    x: &Panels,
    scratch: &mut gemm::Scratch,
) {
    let n = j.weights.rows;
    let Some(format) = j.weights.format() else {
        return;
    };
    let bytes = |i: usize| match j.weights.tile(i) {
        Tile::Quantised(_, bytes) => bytes,
        Tile::Plain(_) => &[],
    };
    let pair = [bytes(tiles.start), bytes(tiles.end - 1)];
    gemm::tiles(cx.isa, &format, &pair[..tiles.len()], x, scratch);
    for t in 0..j.rows.len() {
        for (i, tile) in tiles.clone().enumerate() {
            let rows = tile * TILE..((tile + 1) * TILE).min(n);
            // SAFETY: rows of one tile of one token; tiles are taken by one thread each.
            let to = unsafe { j.out.slice(t * n + rows.start..t * n + rows.end) };
            to.copy_from_slice(&scratch.results(t, i, tiles.len())[..to.len()]);
        }
    }
}

fn one(cx: &Context<'_>, j: &Job<'_>, tile: usize, x: &[Act<'_>]) {
    let n = j.weights.rows;
    let rows = tile * TILE..((tile + 1) * TILE).min(n);
    match j.weights.tile(tile) {
        Tile::Quantised(format, bytes) => {
            let tile = dot::Tile {
                format,
                cols: j.x.cols,
                bytes,
                next: None,
            };
            let mut out = [[0.0; TILE]; 16];
            for (b, x) in x.chunks(16).enumerate() {
                let out = &mut out[..x.len()];
                dot::tile(cx.isa, tile, x, out);
                for (t, y) in out.iter().enumerate() {
                    let at = (16 * b + t) * n;
                    // SAFETY: rows of one tile of one token; tiles are taken by one thread each.
                    let to = unsafe { j.out.slice(at + rows.start..at + rows.end) };
                    to.copy_from_slice(&y[..to.len()]);
                }
            }
        }
        Tile::Plain(_) => {
            for r in rows {
                let w = j.weights.plain_row(r);
                for t in 0..j.rows.len() {
                    // SAFETY: one element; as above.
                    let to = unsafe { j.out.slice(t * n + r..t * n + r + 1) };
                    to[0] = float::dot(cx.isa, w, j.x.row(j.rows.get(t)));
                }
            }
        }
    }
}
