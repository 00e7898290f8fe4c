//! Rows of activations, in single precision and as the integer kernels read them.

use crate::forward::Context;
use crate::kernels::dot::Quantised;
use crate::kernels::rows::{self, ACTIVATION_GROUP, SUM_GROUP};
use crate::team::Disjoint;

/// `[rows, cols]` activations. The quantised form exists when `cols` is a multiple of 32, which every
/// quantised matrix asks of its inputs.
#[derive(Debug, Default)]
pub(crate) struct Activations {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    x: Vec<f32>,
    q: Vec<i8>,
    scale: Vec<f32>,
    sums: Vec<f32>,
}

impl Activations {
    /// Computes each row with `f(row index, row)` and quantises it, rows spread over the team.
    pub(crate) fn fill(
        &mut self,
        cx: &Context<'_>,
        rows: usize,
        cols: usize,
        f: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        (self.rows, self.cols) = (rows, cols);
        self.x.resize(rows * cols, 0.0);
        let (groups, sums) = (cols / ACTIVATION_GROUP, cols / SUM_GROUP);
        let quantise = cols.is_multiple_of(ACTIVATION_GROUP);
        self.q.resize(rows * cols, 0);
        self.scale.resize(rows * groups, 0.0);
        self.sums.resize(rows * sums, 0.0);
        let x = Disjoint::new(&mut self.x);
        let q = Disjoint::new(&mut self.q);
        let scale = Disjoint::new(&mut self.scale);
        let sum = Disjoint::new(&mut self.sums);
        cx.team.for_ranges(rows, |range| {
            for r in range {
                // SAFETY: each row belongs to one index, and each index to one thread.
                let (x, q, scale, sum) = unsafe {
                    (
                        x.slice(r * cols..(r + 1) * cols),
                        q.slice(r * cols..(r + 1) * cols),
                        scale.slice(r * groups..(r + 1) * groups),
                        sum.slice(r * sums..(r + 1) * sums),
                    )
                };
                f(r, x);
                if quantise {
                    rows::quantise(cx.isa, x, q, scale, sum);
                }
            }
        });
    }

    /// Fills with the RMS norm of the rows of `x`.
    pub(crate) fn norm(&mut self, cx: &Context<'_>, x: &[f32], w: &[f32], eps: f32) {
        let cols = w.len();
        self.fill(cx, x.len() / cols, cols, |r, out| {
            rows::rms(cx.isa, &x[r * cols..][..cols], w, eps, out);
        });
    }

    /// Row `r` in single precision.
    pub(crate) fn row(&self, r: usize) -> &[f32] {
        &self.x[r * self.cols..][..self.cols]
    }

    /// Row `r` quantised.
    pub(crate) fn quantised(&self, r: usize) -> Quantised<'_> {
        let (groups, sums) = (self.cols / ACTIVATION_GROUP, self.cols / SUM_GROUP);
        Quantised {
            q: &self.q[r * self.cols..][..self.cols],
            scale: &self.scale[r * groups..][..groups],
            sums: &self.sums[r * sums..][..sums],
        }
    }
}
