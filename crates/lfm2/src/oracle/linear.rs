//! Products with weights that are dequantised a few rows at a time, on several threads.

use crate::quant::WeightTensor;

/// `[n, width]` activations.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    width: usize,
    data: Vec<f32>,
}

impl Rows {
    pub(super) fn new(n: usize, width: usize) -> Self {
        Self {
            width,
            data: vec![0.0; n * width],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.data.len() / self.width
    }

    pub(super) fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.width..][..self.width]
    }

    pub(super) fn row_mut(&mut self, i: usize) -> &mut [f32] {
        &mut self.data[i * self.width..][..self.width]
    }

    pub(super) fn rows_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        self.data.chunks_exact_mut(self.width)
    }

    pub(super) fn flat(&self) -> &[f32] {
        &self.data
    }

    pub(super) fn add(&mut self, o: &Self) {
        self.data.iter_mut().zip(&o.data).for_each(|(x, y)| *x += y);
    }
}

/// Sums in sixteen lanes.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut s = [0.0_f32; 16];
    let (a16, b16) = (a.chunks_exact(16), b.chunks_exact(16));
    let tail: f32 = a16
        .remainder()
        .iter()
        .zip(b16.remainder())
        .map(|(x, y)| x * y)
        .sum();
    for (x, y) in a16.zip(b16) {
        for i in 0..16 {
            s[i] += x[i] * y[i];
        }
    }
    s.iter().sum::<f32>() + tail
}

/// The threads.
pub(super) struct Linear {
    pub(super) threads: usize,
}

impl Linear {
    /// `y[t] = x[t] · wᵀ`.
    pub(super) fn apply(&self, w: &WeightTensor<'_>, x: &Rows) -> Rows {
        // Each thread computes some of the outputs for all tokens, transposed: [outputs, tokens].
        let n = x.len();
        let mut transposed = vec![0.0_f32; w.rows * n];
        let per = w.rows.div_ceil(self.threads);
        std::thread::scope(|s| {
            for (i, part) in transposed.chunks_mut(per * n).enumerate() {
                s.spawn(move || {
                    let mut row = vec![0.0_f32; w.cols];
                    for (r, out) in part.chunks_exact_mut(n).enumerate() {
                        w.row_f32(i * per + r, &mut row);
                        for (t, o) in out.iter_mut().enumerate() {
                            *o = dot(&row, x.row(t));
                        }
                    }
                });
            }
        });
        let mut y = Rows::new(n, w.rows);
        for (t, row) in y.rows_mut().enumerate() {
            for (r, o) in row.iter_mut().enumerate() {
                *o = transposed[r * n + t];
            }
        }
        y
    }

    /// Rows computed independently of each other. Dealt in turn, since later ones cost more in attention.
    pub(super) fn map_rows(
        &self,
        n: usize,
        width: usize,
        f: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Rows {
        let mut y = Rows::new(n, width);
        let mut hands: Vec<Vec<(usize, &mut [f32])>> =
            (0..self.threads).map(|_| Vec::new()).collect();
        for (t, row) in y.data.chunks_exact_mut(width).enumerate() {
            hands[t % self.threads].push((t, row));
        }
        std::thread::scope(|s| {
            for hand in hands {
                let f = &f;
                s.spawn(move || hand.into_iter().for_each(|(t, row)| f(t, row)));
            }
        });
        y
    }
}
