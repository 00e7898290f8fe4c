//! Rows of activations, in single precision and as the integer kernels read them.
//!
//! A row becomes one or two rows of eight-bit codes. With two ([`super::Precision::Sixteen`]) the second holds what
//! the first left over, so together they carry about fifteen bits and the products lose nothing that
//! matters; the weights, which cost the memory traffic, are read once for both.

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
    /// Rows of codes per row.
    terms: usize,
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
        let terms = cx.precision.terms();
        (self.rows, self.cols, self.terms) = (rows, cols, terms);
        self.x.resize(rows * cols, 0.0);
        let (groups, sums) = (cols / ACTIVATION_GROUP, cols / SUM_GROUP);
        let quantise = cols.is_multiple_of(ACTIVATION_GROUP);
        self.q.resize(rows * terms * cols, 0);
        self.scale.resize(rows * terms * groups, 0.0);
        self.sums.resize(rows * terms * sums, 0.0);
        let x = Disjoint::new(&mut self.x);
        let q = Disjoint::new(&mut self.q);
        let scale = Disjoint::new(&mut self.scale);
        let sum = Disjoint::new(&mut self.sums);
        cx.team.for_ranges(rows, |range| {
            let mut rest = vec![0.0_f32; if terms > 1 { cols } else { 0 }];
            for r in range {
                // SAFETY: each row belongs to one index, and each index to one thread.
                let x = unsafe { x.slice(r * cols..(r + 1) * cols) };
                f(r, x);
                if !quantise {
                    continue;
                }
                for term in 0..terms {
                    let at = r * terms + term;
                    // SAFETY: as above; a row's terms are neighbours.
                    let (q, scale, sum) = unsafe {
                        (
                            q.slice(at * cols..(at + 1) * cols),
                            scale.slice(at * groups..(at + 1) * groups),
                            sum.slice(at * sums..(at + 1) * sums),
                        )
                    };
                    rows::quantise(cx.isa, if term == 0 { x } else { &rest }, q, scale, sum);
                    if term + 1 < terms {
                        for (i, rest) in rest.iter_mut().enumerate() {
                            *rest = x[i] - scale[i / ACTIVATION_GROUP] * f32::from(q[i]);
                        }
                    }
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

    /// The codes of row `r`, one for each term.
    pub(crate) fn quantised(&self, r: usize) -> impl Iterator<Item = Quantised<'_>> {
        let (groups, sums) = (self.cols / ACTIVATION_GROUP, self.cols / SUM_GROUP);
        (r * self.terms..(r + 1) * self.terms).map(move |at| Quantised {
            q: &self.q[at * self.cols..][..self.cols],
            scale: &self.scale[at * groups..][..groups],
            sums: &self.sums[at * sums..][..sums],
        })
    }
}
