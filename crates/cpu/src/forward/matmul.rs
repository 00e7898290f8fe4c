//! Several matrix products in one parallel region.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::activations::Activations;
use crate::forward::Context;
use crate::kernels::dot::{self, Quantised, TILE};
use crate::kernels::float;
use crate::pack::{Matrix, Tile};
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

/// Runs all jobs, their tiles shared by the team.
pub(crate) fn matmul(cx: &Context<'_>, jobs: &mut [Job<'_>]) {
    let next = AtomicUsize::new(0);
    let takes: Vec<usize> = jobs
        .iter()
        .map(|j| j.weights.tiles_len().div_ceil(TAKE))
        .collect();
    let jobs = &*jobs;
    cx.team.run(&|_| {
        let (mut job, mut base) = (0, 0);
        let mut gathered: (usize, Vec<Quantised<'_>>) = (usize::MAX, Vec::new());
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            while job < jobs.len() && i - base >= takes[job] {
                base += takes[job];
                job += 1;
            }
            let Some(j) = jobs.get(job) else { return };
            if gathered.0 != job {
                gathered.0 = job;
                gathered.1.clear();
                if j.weights.is_quantised() {
                    gathered
                        .1
                        .extend((0..j.rows.len()).flat_map(|r| j.x.quantised(j.rows.get(r))));
                }
            }
            let first = (i - base) * TAKE;
            for tile in first..(first + TAKE).min(j.weights.tiles_len()) {
                one(cx, j, tile, &gathered.1);
            }
        }
    });
}

fn one(cx: &Context<'_>, j: &Job<'_>, tile: usize, x: &[Quantised<'_>]) {
    let n = j.weights.rows;
    let rows = tile * TILE..((tile + 1) * TILE).min(n);
    match j.weights.tile(tile) {
        Tile::Quantised(format, bytes) => {
            let terms = cx.precision.terms();
            let mut out = [[0.0; TILE]; 16];
            for (b, x) in x.chunks(16).enumerate() {
                let out = &mut out[..x.len()];
                dot::tile(cx.isa, &format, bytes, x, out);
                for (t, y) in out.chunks_exact(terms).enumerate() {
                    let at = (16 / terms * b + t) * n;
                    // SAFETY: rows of one tile of one token; tiles are taken by one thread each.
                    let to = unsafe { j.out.slice(at + rows.start..at + rows.end) };
                    to.copy_from_slice(&y[0][..to.len()]);
                    for more in &y[1..] {
                        to.iter_mut().zip(more).for_each(|(o, y)| *o += y);
                    }
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
