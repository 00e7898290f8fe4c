//! The gated short convolution of a chunk.

use super::{Context, Job, Scratch, fit, matmul};
use crate::pack::Matrix;
use crate::state::State;
use lfm2::config::Config;

/// Reads `s.input`, leaves the block's output in `s.narrow` and the new window of conv layer `index` at the
/// end of `s.windows`.
pub(super) fn forward(
    cx: &Context<'_>,
    c: &Config,
    s: &mut Scratch,
    state: &State,
    index: usize,
    input: &Matrix,
    taps: &[f32],
    output: &Matrix,
    t: usize,
) {
    let h = c.hidden_size;
    let keep = c.conv_kernel - 1;
    fit(&mut s.wide, t * 3 * h);
    matmul(
        cx,
        &mut s.buffers,
        &mut [Job::all(input, &s.input, &mut s.wide)],
    );

    // u = B ⊙ x, behind the rows the last chunk left.
    let window = &state.windows[index * keep * h..][..keep * h];
    fit(&mut s.gated, (keep + t) * h);
    let bcx = &s.wide;
    cx.team.for_chunks(&mut s.gated, h, |i, row| {
        if i < keep {
            row.copy_from_slice(&window[i * h..][..h]);
        } else {
            let bcx = &bcx[(i - keep) * 3 * h..][..3 * h];
            for ((u, b), x) in row.iter_mut().zip(&bcx[..h]).zip(&bcx[2 * h..]) {
                *u = b * x;
            }
        }
    });
    s.windows.extend_from_slice(&s.gated[t * h..]);

    let gated = &s.gated;
    s.inner.fill(cx, t, h, |i, y| {
        y.fill(0.0);
        for (j, taps) in taps.chunks_exact(h).enumerate() {
            for ((y, k), u) in y.iter_mut().zip(taps).zip(&gated[(i + j) * h..][..h]) {
                *y += k * u;
            }
        }
        for (y, c) in y.iter_mut().zip(&bcx[i * 3 * h + h..][..h]) {
            *y *= c;
        }
    });
    fit(&mut s.narrow, t * h);
    matmul(
        cx,
        &mut s.buffers,
        &mut [Job::all(output, &s.inner, &mut s.narrow)],
    );
}
