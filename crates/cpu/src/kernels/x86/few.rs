//! One to four tokens against a tile on AVX-512 VNNI: the kernel of decoding.
//!
//! Formula and layout: [`crate::kernels::dot`]. Sixteen rows fill a vector; each line of 64 bytes meets four
//! (or twice four) columns of activations broadcast from the first-level cache. Bytes moved: the tile once;
//! the loop is bound by memory: unpacking and fifteen-bit activations need about 18 cycles for the 288 bytes
//! of 32 four-bit columns on Zen 4.
//!
//! History, on Zen 4 with 33.6 GB/s of plain reading: fetching left to the hardware 27.4 GB/s (Q4_0; it stops at
//! each page and each jump between tiles), fetched into the first level 512 B to 16 KB ahead 26 to 29, into the
//! second level 8 KB ahead 30.7 (4 KB 29.6, 1 KB 25.5). Closures and `array::from_fn` around intrinsics were
//! not inlined and passed vectors through memory.

use std::arch::x86_64::*;

use crate::kernels::dot::{Act, PANEL, TILE, Tile, expand};
use crate::kernels::simd::Avx512;
use crate::pack::STEP;

/// Bytes between the line in use and the line fetched.
const AHEAD: usize = 8192;

/// # Safety
/// The processor must have AVX-512 F/BW/VL/VNNI; `tile` and `x` must hold `cols` columns.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(in crate::kernels) unsafe fn tile(tile: Tile<'_>, x: &[Act<'_>], out: &mut [[f32; TILE]]) {
    let mut i = 0;
    while i < x.len() {
        let left = x.len() - i;
        // SAFETY: same features, same lengths.
        unsafe {
            if left >= 4 {
                terms::<4>(tile, &x[i..], &mut out[i..]);
                i += 4;
            } else if left >= 2 {
                terms::<2>(tile, &x[i..], &mut out[i..]);
                i += 2;
            } else {
                terms::<1>(tile, &x[i..], &mut out[i..]);
                i += 1;
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c")]
unsafe fn terms<const N: usize>(tile: Tile<'_>, x: &[Act<'_>], out: &mut [[f32; TILE]]) {
    let two = !x[0].low.is_empty();
    // SAFETY: same features, same lengths.
    unsafe {
        match (tile.format.bits, tile.format.group < STEP, two) {
            (4, _, false) => few::<N, 4, 1, false>(tile, x, out),
            (4, _, true) => few::<N, 4, 2, false>(tile, x, out),
            (6, false, false) => few::<N, 6, 1, false>(tile, x, out),
            (6, false, true) => few::<N, 6, 2, false>(tile, x, out),
            (6, true, false) => few::<N, 6, 1, true>(tile, x, out),
            (6, true, true) => few::<N, 6, 2, true>(tile, x, out),
            (_, _, false) => few::<N, 8, 1, false>(tile, x, out),
            (_, _, true) => few::<N, 8, 2, false>(tile, x, out),
        }
    }
}

/// Codes of four columns `four` (0 to 7) of a step, one byte each.
///
/// # Safety
/// `codes` must point to a whole step.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(super) unsafe fn four<const BITS: u32>(codes: *const u8, four: usize) -> __m512i {
    // SAFETY: lines of the step.
    unsafe {
        let lines = codes.cast::<__m512i>();
        if BITS == 8 {
            return lines.add(four).read_unaligned();
        }
        let low = _mm512_set1_epi8(15);
        let w = lines.add(four / 2).read_unaligned();
        let nibbles = if four.is_multiple_of(2) {
            _mm512_and_si512(w, low)
        } else {
            _mm512_and_si512(_mm512_srli_epi16::<4>(w), low)
        };
        if BITS == 4 {
            return nibbles;
        }
        let high = lines.add(4 + four / 4).read_unaligned();
        let high = match four % 4 {
            0 => _mm512_slli_epi16::<4>(high),
            1 => _mm512_slli_epi16::<2>(high),
            2 => high,
            _ => _mm512_srli_epi16::<2>(high),
        };
        // (high & 0x30) | nibbles in one operation.
        _mm512_ternarylogic_epi32::<0xF8>(nibbles, high, _mm512_set1_epi8(0x30))
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c")]
unsafe fn few<const N: usize, const BITS: u32, const TERMS: usize, const HALF: bool>(
    tile: Tile<'_>,
    x: &[Act<'_>],
    out: &mut [[f32; TILE]],
) {
    let (f, cols) = (&tile.format, tile.cols);
    let (header, codes) = tile.parts();
    let step_bytes = 64 * BITS as usize;
    let end = codes.as_ptr_range().end as usize;
    // Where the lines beyond this tile's end are found.
    let jump = tile
        .next
        .map_or(0, |n| (n.as_ptr() as usize).wrapping_sub(end));
    let groups = cols / f.group;
    let steps = (f.group / STEP).max(1);
    let stored = f.stored_zero();
    let (mut s, mut z) = ([0.0_f32; TILE * PANEL], [0.0_f32; TILE * PANEL]);
    let mut y = [_mm512_setzero_ps(); N];
    let offset = f.implied_zero;
    let mut zsum: [&[f32]; N] = [&[]; N];
    for (z, x) in zsum.iter_mut().zip(x) {
        *z = x.zsum_of(f.group);
    }
    let x = &x[..N];
    let mut codes = codes.as_ptr();
    let mut at = 0;
    for first in (0..groups).step_by(PANEL) {
        let last = (first + PANEL).min(groups);
        expand::<Avx512>(f, header, first..last, &mut s, &mut z);
        let mut g = first;
        while g < last {
            // SAFETY: `expand` filled the panel; codes of `cols` columns and activations to match were
            // promised by the caller; prefetching reads nothing.
            unsafe {
                let scale = s.as_ptr().add((g - first) * TILE);
                for _ in 0..steps {
                    let mut ahead = codes as usize + AHEAD;
                    if ahead >= end {
                        ahead = ahead.wrapping_add(jump);
                    }
                    for i in 0..BITS as usize {
                        _mm_prefetch::<_MM_HINT_T1>((ahead + 64 * i) as *const i8);
                    }
                    let step = at / STEP;
                    for h in 0..if HALF { 2 } else { 1 } {
                        let mut n = [_mm512_setzero_si512(); N];
                        for (n, x) in n.iter_mut().zip(x) {
                            let sum = if HALF {
                                *x.sum16.as_ptr().add(2 * step + h)
                            } else {
                                *x.sum32.as_ptr().add(step)
                            };
                            *n = _mm512_set1_epi32(offset * sum);
                        }
                        if HALF {
                            sums::<N, BITS, TERMS, 4>(codes, 4 * h, x, at, &mut n);
                        } else {
                            sums::<N, BITS, TERMS, 8>(codes, 0, x, at, &mut n);
                        }
                        let s = _mm512_loadu_ps(scale.add(h * TILE));
                        for t in 0..N {
                            let a = _mm512_set1_ps(*x[t].scale.as_ptr().add(step));
                            let sa = _mm512_mul_ps(s, a);
                            y[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(n[t]), sa, y[t]);
                        }
                    }
                    codes = codes.add(step_bytes);
                    at += STEP;
                }
                if stored {
                    let z = _mm512_loadu_ps(z.as_ptr().add((g - first) * TILE));
                    for t in 0..N {
                        y[t] = _mm512_fmadd_ps(z, _mm512_set1_ps(*zsum[t].as_ptr().add(g)), y[t]);
                    }
                }
            }
            g += if HALF { 2 } else { 1 };
        }
    }
    for t in 0..N {
        // SAFETY: the array holds 16 floats.
        unsafe { _mm512_storeu_ps(out[t].as_mut_ptr(), y[t]) };
    }
}

/// Adds the products of `COUNT` fours from `first` on to the integer sums `n`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c")]
unsafe fn sums<const N: usize, const BITS: u32, const TERMS: usize, const COUNT: usize>(
    codes: *const u8,
    first: usize,
    x: &[Act<'_>],
    at: usize,
    n: &mut [__m512i; N],
) {
    let zero = _mm512_setzero_si512();
    // Separate chains, so that one product need not wait for the last.
    let mut low = *n;
    let mut odd = [zero; N];
    let mut high = [zero; N];
    let mut high_odd = [zero; N];
    for i in 0..COUNT {
        // SAFETY: a whole step of codes and of activations, by the caller.
        unsafe {
            let w = four::<BITS>(codes, first + i);
            let col = at + 4 * (first + i);
            for t in 0..N {
                let q = x[t].high.as_ptr().add(col).cast::<i32>().read_unaligned();
                let q = _mm512_set1_epi32(q);
                if TERMS == 1 {
                    let into = if i % 2 == 0 { &mut low[t] } else { &mut odd[t] };
                    *into = _mm512_dpbusd_epi32(*into, w, q);
                } else {
                    let into = if i % 2 == 0 {
                        &mut high[t]
                    } else {
                        &mut high_odd[t]
                    };
                    *into = _mm512_dpbusd_epi32(*into, w, q);
                    let q = x[t].low.as_ptr().add(col).cast::<i32>().read_unaligned();
                    let q = _mm512_set1_epi32(q);
                    let into = if i % 2 == 0 { &mut low[t] } else { &mut odd[t] };
                    *into = _mm512_dpbusd_epi32(*into, w, q);
                }
            }
        }
    }
    for t in 0..N {
        n[t] = _mm512_add_epi32(low[t], odd[t]);
        if TERMS == 2 {
            let high = _mm512_add_epi32(high[t], high_odd[t]);
            n[t] = _mm512_add_epi32(_mm512_slli_epi32::<7>(high), n[t]);
        }
    }
}
