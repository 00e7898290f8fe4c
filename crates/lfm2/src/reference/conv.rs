//! The gated short convolution.
//!
//! ```text
//! B, C, x = split(h · in_projᵀ)            each [T, H]
//! u = B ⊙ x
//! v[t, c] = Σ_j kernel[c, j] · u[t − (L−1) + j, c]     u before the sequence is 0
//! y = (C ⊙ v) · out_projᵀ
//! ```

use super::{Matrix, Numerics, ops};

/// `window` holds the last `L − 1` rows of `u` and is advanced by `T`.
pub(super) fn forward(
    n: Numerics,
    h: &[f32],
    input: &Matrix,
    kernel: &Matrix,
    output: &Matrix,
    window: &mut Vec<f32>,
) -> Vec<f32> {
    let width = output.cols;
    let taps = kernel.cols;
    let bcx = ops::linear(n, h, input);
    let mut gated = Vec::with_capacity(h.len());
    for row in bcx.chunks_exact(3 * width) {
        let (b, rest) = row.split_at(width);
        let (c, x) = rest.split_at(width);
        window.extend(b.iter().zip(x).map(|(b, x)| n.round(b * x)));
        // The window now holds exactly `taps` rows, the newest last.
        gated.extend((0..width).map(|ch| {
            let k = kernel.row(ch);
            let v: f32 = (0..taps).map(|j| k[j] * window[j * width + ch]).sum();
            n.round(c[ch] * n.round(v))
        }));
        window.drain(..width);
    }
    ops::linear(n, &gated, output)
}
