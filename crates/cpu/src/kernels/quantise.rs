//! Activations for the integer kernels.
//!
//! 32 neighbouring values share the scale `a = max|x| / top`, codes are rounded to nearest. With one term
//! `top` is 127; with two a code has fifteen bits and a sign and is cut into `128 · high + low` with `low` in
//! −64..=63, so `top` is `127 · 128 + 63`. Beside the codes lie the sums the zeros of the weights need.

use super::dispatch;
use super::dot::Act;
use super::simd::Vector;
use crate::Isa;
use crate::pack::STEP;

/// Quantised rows, `[rows, cols]`. `cols` is a multiple of 32.
#[derive(Debug, Default)]
pub struct Acts {
    cols: usize,
    two: bool,
    high: Vec<i8>,
    low: Vec<i8>,
    scale: Vec<f32>,
    sum16: Vec<i32>,
    sum32: Vec<i32>,
    zsum: [Vec<f32>; 3],
}

impl Acts {
    /// Makes room for `rows` rows of `cols` values, with two terms or one. Contents are not kept.
    pub fn resize(&mut self, rows: usize, cols: usize, two: bool) {
        assert!(cols.is_multiple_of(STEP));
        (self.cols, self.two) = (cols, two);
        let steps = rows * (cols / STEP);
        self.high.resize(rows * cols, 0);
        self.low.resize(if two { rows * cols } else { 0 }, 0);
        self.scale.resize(steps, 0.0);
        self.sum16.resize(2 * steps, 0);
        self.sum32.resize(steps, 0);
        for (i, z) in self.zsum.iter_mut().enumerate() {
            z.resize(rows * (cols / (STEP << i)), 0.0);
        }
    }

    /// Row `r`.
    pub fn row(&self, r: usize) -> Act<'_> {
        let (c, s) = (self.cols, self.cols / STEP);
        let z = |i: usize| {
            let n = c / (STEP << i);
            &self.zsum[i][r * n..(r + 1) * n]
        };
        Act {
            high: &self.high[r * c..(r + 1) * c],
            low: if self.two {
                &self.low[r * c..(r + 1) * c]
            } else {
                &[]
            },
            scale: &self.scale[r * s..(r + 1) * s],
            sum16: &self.sum16[2 * r * s..2 * (r + 1) * s],
            sum32: &self.sum32[r * s..(r + 1) * s],
            zsum: [z(0), z(1), z(2)],
        }
    }

    /// Row `r`, to be written.
    pub fn row_mut(&mut self, r: usize) -> ActMut<'_> {
        self.rows_mut().nth(r).expect("a row that is there")
    }

    /// All rows, to be written.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = ActMut<'_>> {
        let (c, s) = (self.cols, self.cols / STEP);
        let rows = self.high.len() / c.max(1);
        let mut low = self.low.as_mut_slice();
        let mut high = self.high.as_mut_slice();
        let mut scale = self.scale.as_mut_slice();
        let mut sum16 = self.sum16.as_mut_slice();
        let mut sum32 = self.sum32.as_mut_slice();
        let [z0, z1, z2] = &mut self.zsum;
        let (mut z0, mut z1, mut z2) = (&mut z0[..], &mut z1[..], &mut z2[..]);
        let two = self.two;
        (0..rows).map(move |_| ActMut {
            high: cut(&mut high, c),
            low: cut(&mut low, if two { c } else { 0 }),
            scale: cut(&mut scale, s),
            sum16: cut(&mut sum16, 2 * s),
            sum32: cut(&mut sum32, s),
            zsum: [cut(&mut z0, s), cut(&mut z1, c / 64), cut(&mut z2, c / 128)],
        })
    }
}

#[allow(clippy::mut_mut)] // The slice itself moves on.
fn cut<'a, T>(rest: &mut &'a mut [T], n: usize) -> &'a mut [T] {
    let (head, tail) = std::mem::take(rest).split_at_mut(n);
    *rest = tail;
    head
}

/// One row to be written; fields as in [`Act`].
#[derive(Debug)]
pub struct ActMut<'a> {
    high: &'a mut [i8],
    low: &'a mut [i8],
    scale: &'a mut [f32],
    sum16: &'a mut [i32],
    sum32: &'a mut [i32],
    zsum: [&'a mut [f32]; 3],
}

#[inline(always)]
fn quantise_generic<V: Vector>(x: &[f32], out: &mut ActMut<'_>) {
    let two = !out.low.is_empty();
    let top: f32 = if two { 127.0 * 128.0 + 63.0 } else { 127.0 };
    let magic = V::splat(12_582_912.0);
    for (g, x) in x.chunks_exact(STEP).enumerate() {
        let mut m = V::splat(0.0);
        for i in (0..STEP).step_by(V::LANES) {
            let v = V::load(&x[i..]);
            m = m.max(v).max(V::splat(0.0).sub(v));
        }
        let mut lanes = [0.0_f32; 16];
        m.store(&mut lanes);
        let max = lanes[..V::LANES].iter().copied().fold(0.0, f32::max);
        let a = max / top;
        let inv = if max > 0.0 { top / max } else { 0.0 };
        // A scale too small for its inverse: the values are as good as zero.
        let inv = if inv.is_finite() { inv } else { 0.0 };
        // Adding 1.5 · 2²³ leaves the rounded integer in the low bits of the sum: no conversion is needed.
        let mut bits = [0.0_f32; STEP];
        for i in (0..STEP).step_by(V::LANES) {
            V::load(&x[i..])
                .fma(V::splat(inv), magic)
                .store(&mut bits[i..]);
        }
        let mut q = [0_i16; STEP];
        for (q, b) in q.iter_mut().zip(bits) {
            *q = b.to_bits() as i16;
        }
        let high = &mut out.high[g * STEP..][..STEP];
        if two {
            let low = &mut out.low[g * STEP..][..STEP];
            for i in 0..STEP {
                let h = (q[i] + 64) >> 7;
                high[i] = h as i8;
                low[i] = (q[i] - (h << 7)) as i8;
            }
        } else {
            for i in 0..STEP {
                high[i] = q[i] as i8;
            }
        }
        let half = |q: &[i16]| q.iter().map(|q| i32::from(*q)).sum::<i32>();
        let (left, right) = (half(&q[..STEP / 2]), half(&q[STEP / 2..]));
        out.scale[g] = a;
        out.sum16[2 * g] = left;
        out.sum16[2 * g + 1] = right;
        out.sum32[g] = left + right;
        out.zsum[0][g] = a * (left + right) as f32;
    }
    for i in 1..3 {
        let (small, wide) = out.zsum.split_at_mut(i);
        let small = &small[i - 1];
        for (w, s) in wide[0].iter_mut().zip(small.chunks_exact(2)) {
            *w = s[0] + s[1];
        }
    }
}

/// Quantises one row. `x.len()` is a multiple of 32.
pub fn quantise(isa: Isa, x: &[f32], out: &mut ActMut<'_>) {
    dispatch!(isa, quantise_generic(x: &[f32], out: &mut ActMut<'_>));
}
