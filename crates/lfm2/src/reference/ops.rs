//! The operators all blocks share.

use super::{Matrix, Numerics};

/// `y[t] = x[t] · wᵀ` for rows `x` of length `w.cols`; the result is `[T, w.rows]`.
pub(super) fn linear(n: Numerics, x: &[f32], w: &Matrix) -> Vec<f32> {
    let mut y = Vec::with_capacity(x.len() / w.cols * w.rows);
    for row in x.chunks_exact(w.cols) {
        y.extend((0..w.rows).map(|r| n.round(dot(row, w.row(r)))));
    }
    y
}

/// A dot product in eight interleaved partial sums: the order is fixed and the compiler can vectorise it.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut s = [0.0_f32; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f32 = a8
        .remainder()
        .iter()
        .zip(b8.remainder())
        .map(|(x, y)| x * y)
        .sum();
    for (x, y) in a8.zip(b8) {
        for i in 0..8 {
            s[i] += x[i] * y[i];
        }
    }
    s.iter().sum::<f32>() + tail
}

/// `w · x / sqrt(mean(x²) + eps)` for each row of length `w.cols`. In bf16 the normalised value is
/// rounded before the product, as mlx and transformers do.
pub(super) fn rms_rows(n: Numerics, x: &[f32], w: &Matrix, eps: f32) -> Vec<f32> {
    let mut y = Vec::with_capacity(x.len());
    for row in x.chunks_exact(w.cols) {
        let mean = dot(row, row) / w.cols as f32;
        let inv = 1.0 / (mean + eps).sqrt();
        y.extend(
            row.iter()
                .zip(&w.data)
                .map(|(v, w)| n.round(w * n.round(v * inv))),
        );
    }
    y
}

/// `x += y`.
pub(super) fn add(n: Numerics, x: &mut [f32], y: &[f32]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x = n.round(*x + y);
    }
}
