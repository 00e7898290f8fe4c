//! Rows of activations, in single precision and as the integer kernels read them.

use crate::forward::Context;
use crate::kernels::dot::Act;
use crate::kernels::quantise::{Acts, quantise};
use crate::kernels::rows;
use crate::pack::STEP;
use crate::team::Disjoint;

/// `[rows, cols]` activations. The quantised form exists when `cols` is a multiple of 32, which every
/// quantised matrix asks of its inputs.
#[derive(Debug, Default)]
pub(crate) struct Activations {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    x: Vec<f32>,
    acts: Acts,
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
        if !cols.is_multiple_of(STEP) {
            cx.team.for_chunks(&mut self.x, cols, |r, x| f(r, x));
            return;
        }
        self.acts.resize(rows, cols, cx.precision.terms() == 2);
        let mut acts: Vec<_> = self.acts.rows_mut().collect();
        let acts = Disjoint::new(&mut acts);
        let x = Disjoint::new(&mut self.x);
        cx.team.for_ranges(rows, |range| {
            for r in range {
                // SAFETY: each row belongs to one index, and each index to one thread.
                let (x, act) = unsafe {
                    (
                        x.slice(r * cols..(r + 1) * cols),
                        &mut acts.slice(r..r + 1)[0],
                    )
                };
                f(r, x);
                quantise(cx.isa, x, act);
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

    /// Row `r`, quantised.
    pub(crate) fn act(&self, r: usize) -> Act<'_> {
        self.acts.row(r)
    }
}
