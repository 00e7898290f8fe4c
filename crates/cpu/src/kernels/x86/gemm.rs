//! One or two tiles against many tokens on AVX-512 VNNI. What is computed: [`crate::kernels::gemm`].
//!
//! In the inner loop 2 × `T` integer sums (twice that with two terms) live in registers; per four columns
//! it loads two lines of unpacked codes and broadcasts `T` words (2·`T`) for 2·`T` (4·`T`) products.

use std::arch::x86_64::*;

use super::few::four;
use crate::kernels::dot::{TILE, expand};
use crate::kernels::gemm::{Panels, Scratch, step_words};
use crate::kernels::simd::Avx512;
use crate::pack::{STEP, TileFormat};

/// Columns unpacked at a time: 16 KB for two tiles.
const COLS: usize = 512;

/// # Safety
/// The processor must have AVX-512 F/BW/VL/VNNI; the tiles must hold the columns of `x`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(in crate::kernels) unsafe fn tiles<const R: usize>(
    f: &TileFormat,
    tiles: [&[u8]; R],
    x: &Panels,
    scratch: &mut Scratch,
) {
    let cols = x.cols;
    let head = f.header_bytes(cols);
    let stored = f.stored_zero();
    let panel_groups = COLS / f.group;
    scratch.codes.resize(R * COLS * TILE + 64, 0);
    scratch.scales.resize(R * panel_groups * TILE, 0.0);
    scratch.zeros.resize(R * panel_groups * TILE, 0.0);
    scratch.out.clear();
    scratch.out.resize(x.tokens() * R * TILE, 0.0);
    // Lines on cache-line borders.
    let codes = {
        let p = scratch.codes.as_mut_ptr();
        // SAFETY: 64 spare bytes were allocated.
        unsafe { p.add(p.align_offset(64).min(64)) }
    };
    for first in (0..cols).step_by(COLS) {
        let n = COLS.min(cols - first);
        for (r, tile) in tiles.iter().enumerate() {
            let (header, packed) = tile.split_at(head);
            let groups = first / f.group..(first + n) / f.group;
            let at = r * panel_groups * TILE;
            expand::<Avx512>(
                f,
                header,
                groups,
                &mut scratch.scales[at..],
                &mut scratch.zeros[at..],
            );
            // SAFETY: the tile holds the columns of `x`, and `codes` has room for `COLS` of each tile.
            unsafe {
                let from = packed.as_ptr().add(first / STEP * f.step_bytes());
                let to = codes.add(r * COLS * TILE);
                match f.bits {
                    4 => unpack::<4>(from, n / STEP, to),
                    6 => unpack::<6>(from, n / STEP, to),
                    _ => unpack::<8>(from, n / STEP, to),
                }
            }
        }
        for (group, words) in x.groups() {
            let y = &mut scratch.out[group.first * R * TILE..][..group.tokens * R * TILE];
            let p = Panel {
                codes,
                scales: scratch.scales.as_ptr(),
                zeros: scratch.zeros.as_ptr(),
                stride: panel_groups * TILE,
                offset: f.implied_zero,
                first,
                cols: n,
                all_cols: cols,
                group: f.group,
            };
            // SAFETY: all buffers hold `n` columns; `y` the group's results.
            unsafe {
                match (group.tokens, x.two) {
                    (6, _) => form::<R, 6, 1>(&p, words.as_ptr(), y.as_mut_ptr(), stored),
                    (4, false) => form::<R, 4, 1>(&p, words.as_ptr(), y.as_mut_ptr(), stored),
                    (2, false) => form::<R, 2, 1>(&p, words.as_ptr(), y.as_mut_ptr(), stored),
                    (_, false) => form::<R, 1, 1>(&p, words.as_ptr(), y.as_mut_ptr(), stored),
                    (4, true) => form::<R, 4, 2>(&p, words.as_ptr(), y.as_mut_ptr(), stored),
                    (2, true) => form::<R, 2, 2>(&p, words.as_ptr(), y.as_mut_ptr(), stored),
                    (_, true) => form::<R, 1, 2>(&p, words.as_ptr(), y.as_mut_ptr(), stored),
                }
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c")]
unsafe fn unpack<const BITS: u32>(from: *const u8, steps: usize, to: *mut u8) {
    for s in 0..steps {
        for i in 0..8 {
            // SAFETY: whole steps on both sides, by the caller.
            unsafe {
                let w = four::<BITS>(from.add(s * 64 * BITS as usize), i);
                _mm512_storeu_si512(to.add((8 * s + i) * 64).cast(), w);
            }
        }
    }
}

/// The unpacked columns of all tiles.
struct Panel {
    /// `[tiles, COLS / 4, 64]`.
    codes: *const u8,
    /// `[tiles, groups, 16]`.
    scales: *const f32,
    zeros: *const f32,
    /// Numbers between the scales of two tiles.
    stride: usize,
    offset: i32,
    first: usize,
    cols: usize,
    all_cols: usize,
    group: usize,
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c")]
unsafe fn form<const R: usize, const T: usize, const TERMS: usize>(
    p: &Panel,
    words: *const u32,
    y: *mut f32,
    stored: bool,
) {
    // SAFETY: by the caller.
    unsafe {
        if p.group < STEP {
            block::<R, T, TERMS, true, false>(p, words, y);
        } else if stored {
            block::<R, T, TERMS, false, true>(p, words, y);
        } else {
            block::<R, T, TERMS, false, false>(p, words, y);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c")]
unsafe fn block<
    const R: usize,
    const T: usize,
    const TERMS: usize,
    const HALF: bool,
    const STORED: bool,
>(
    p: &Panel,
    words: *const u32,
    out: *mut f32,
) {
    let stride = step_words(T, TERMS == 2);
    let numbers = 8 * TERMS * T;
    let steps = p.cols / STEP;
    let steps_per_group = (p.group / STEP).max(1);
    let zero = _mm512_setzero_si512();
    // SAFETY: `words` holds every step of a group of `T` tokens and the zero sums behind them, `p` the codes
    // and scales of `p.cols` columns of `R` tiles, `out` `T·R·16` results; all by the caller.
    unsafe {
        let mut y = [[_mm512_setzero_ps(); R]; T];
        for (t, y) in y.iter_mut().enumerate() {
            for (r, y) in y.iter_mut().enumerate() {
                *y = _mm512_loadu_ps(out.add((t * R + r) * TILE));
            }
        }
        let zsums = words
            .add(p.all_cols / STEP * stride)
            .add(p.first / p.group * T)
            .cast::<f32>();
        let mut word = words.add(p.first / STEP * stride);
        let mut codes = p.codes;
        let mut group = 0;
        let mut left = steps_per_group;
        for _ in 0..steps {
            let number = word.add(numbers);
            for half in 0..if HALF { 2 } else { 1 } {
                let sums = if HALF {
                    number.add((2 + half) * T)
                } else {
                    number.add(T)
                }
                .cast::<i32>();
                let mut low = [[zero; R]; T];
                let mut high = [[zero; R]; T];
                for t in 0..T {
                    let s = _mm512_set1_epi32(p.offset * *sums.add(t));
                    low[t] = [s; R];
                }
                let fours = if HALF { 4 * half..4 * half + 4 } else { 0..8 };
                for four in fours {
                    let mut w = [zero; R];
                    for (r, w) in w.iter_mut().enumerate() {
                        *w = _mm512_load_si512(codes.add(r * COLS * TILE + 64 * four).cast());
                    }
                    for t in 0..T {
                        let q = _mm512_set1_epi32(*word.add(four * T + t) as i32);
                        for r in 0..R {
                            let into = if TERMS == 2 {
                                &mut high[t][r]
                            } else {
                                &mut low[t][r]
                            };
                            *into = _mm512_dpbusd_epi32(*into, w[r], q);
                        }
                    }
                    if TERMS == 2 {
                        for t in 0..T {
                            let q = _mm512_set1_epi32(*word.add((8 + four) * T + t) as i32);
                            for r in 0..R {
                                low[t][r] = _mm512_dpbusd_epi32(low[t][r], w[r], q);
                            }
                        }
                    }
                }
                let mut s = [_mm512_setzero_ps(); R];
                for (r, s) in s.iter_mut().enumerate() {
                    *s = _mm512_loadu_ps(p.scales.add(r * p.stride + group * TILE));
                }
                for t in 0..T {
                    let a = _mm512_set1_ps(*number.add(t).cast::<f32>());
                    for r in 0..R {
                        let n = if TERMS == 2 {
                            _mm512_add_epi32(_mm512_slli_epi32::<7>(high[t][r]), low[t][r])
                        } else {
                            low[t][r]
                        };
                        let sa = _mm512_mul_ps(s[r], a);
                        y[t][r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(n), sa, y[t][r]);
                    }
                }
                if HALF {
                    group += 1;
                }
            }
            codes = codes.add(8 * 64);
            word = word.add(stride);
            if HALF {
                continue;
            }
            left -= 1;
            if left == 0 {
                left = steps_per_group;
                if STORED {
                    for r in 0..R {
                        let z = _mm512_loadu_ps(p.zeros.add(r * p.stride + group * TILE));
                        for t in 0..T {
                            let zs = _mm512_set1_ps(*zsums.add(group * T + t));
                            y[t][r] = _mm512_fmadd_ps(z, zs, y[t][r]);
                        }
                    }
                }
                group += 1;
            }
        }
        for (t, y) in y.iter().enumerate() {
            for (r, y) in y.iter().enumerate() {
                _mm512_storeu_ps(out.add((t * R + r) * TILE), *y);
            }
        }
    }
}
