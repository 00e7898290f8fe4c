//! Quantised tiles on AVX-512 VNNI and AVX2. Geometry and formula: see [`crate::kernels::dot`].

use std::arch::x86_64::*;

use crate::kernels::dot::{Integer, Quantised, TILE, header_for, tile_generic};
use crate::kernels::rows::{ACTIVATION_GROUP, SUM_GROUP};
use crate::kernels::simd::{Avx2, Avx512};
use crate::pack::TileFormat;

/// # Safety
/// The processor must have AVX-512 F/BW/VL/VNNI.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(in crate::kernels) unsafe fn tile_avx512(
    f: &TileFormat,
    tile: &[u8],
    x: &[Quantised<'_>],
    out: &mut [[f32; TILE]],
) {
    let mut x = x.chunks_exact(4);
    let mut out = out.chunks_exact_mut(4);
    for (x, o) in (&mut x).zip(&mut out) {
        // SAFETY: same features.
        unsafe { some_avx512::<4>(f, tile, x, o) };
    }
    for (x, o) in x
        .remainder()
        .chunks(1)
        .zip(out.into_remainder().chunks_mut(1))
    {
        // SAFETY: same features.
        unsafe { some_avx512::<1>(f, tile, x, o) };
    }
}

/// `N` tokens at once: each line of weights is loaded once for all of them.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c")]
unsafe fn some_avx512<const N: usize>(
    f: &TileFormat,
    tile: &[u8],
    x: &[Quantised<'_>],
    out: &mut [[f32; TILE]],
) {
    let cols = tile.len() / f.group_bytes() * f.group;
    for x in &x[..N] {
        assert!(x.q.len() >= cols && x.scale.len() * ACTIVATION_GROUP >= cols);
        assert!(x.sums.len() * SUM_GROUP >= cols);
    }
    let head = f.header_bytes();
    let step = f.group.min(ACTIVATION_GROUP);
    let line_cols = if f.bits == 4 { 8 } else { 4 };
    let low = _mm512_set1_epi8(15);
    let mut y = [_mm512_setzero_ps(); N];
    let mut at = 0;
    for group in tile.chunks_exact(f.group_bytes()) {
        let (s, z) = header_for::<Avx512>(f, group);
        let mut total = [_mm512_setzero_ps(); N];
        let mut zsum = [0.0_f32; N];
        let mut lines = group[head..].chunks_exact(64);
        for _ in 0..f.group / step {
            let mut even = [_mm512_setzero_si512(); N];
            let mut odd = [_mm512_setzero_si512(); N];
            for l in (0..step).step_by(line_cols) {
                let Some(line) = lines.next() else { break };
                // SAFETY: a line is 64 bytes; activation codes reach to `cols` by the assertion above, and
                // `at + l + line_cols <= cols`.
                unsafe {
                    let w = _mm512_loadu_si512(line.as_ptr().cast());
                    if f.bits == 4 {
                        let lo = _mm512_and_si512(w, low);
                        let hi = _mm512_and_si512(_mm512_srli_epi16::<4>(w), low);
                        for t in 0..N {
                            let q = x[t].q.as_ptr().add(at + l).cast::<i32>();
                            even[t] = _mm512_dpbusd_epi32(
                                even[t],
                                lo,
                                _mm512_set1_epi32(q.read_unaligned()),
                            );
                            odd[t] = _mm512_dpbusd_epi32(
                                odd[t],
                                hi,
                                _mm512_set1_epi32(q.add(1).read_unaligned()),
                            );
                        }
                    } else {
                        for t in 0..N {
                            let q = x[t].q.as_ptr().add(at + l).cast::<i32>();
                            let q = _mm512_set1_epi32(q.read_unaligned());
                            // Two chains, so that one product need not wait for the last.
                            if l % 8 == 0 {
                                even[t] = _mm512_dpbusd_epi32(even[t], w, q);
                            } else {
                                odd[t] = _mm512_dpbusd_epi32(odd[t], w, q);
                            }
                        }
                    }
                }
            }
            for t in 0..N {
                let n = _mm512_cvtepi32_ps(_mm512_add_epi32(even[t], odd[t]));
                let a = _mm512_set1_ps(x[t].scale[at / ACTIVATION_GROUP]);
                total[t] = _mm512_fmadd_ps(a, n, total[t]);
                for k in 0..step / SUM_GROUP {
                    zsum[t] += x[t].sums[at / SUM_GROUP + k];
                }
            }
            at += step;
        }
        // SAFETY: both arrays hold 16 floats.
        let (s, z) = unsafe { (_mm512_loadu_ps(s.as_ptr()), _mm512_loadu_ps(z.as_ptr())) };
        for t in 0..N {
            y[t] = _mm512_fmadd_ps(s, total[t], y[t]);
            y[t] = _mm512_fmadd_ps(z, _mm512_set1_ps(zsum[t]), y[t]);
        }
    }
    for t in 0..N {
        // SAFETY: the array holds 16 floats.
        unsafe { _mm512_storeu_ps(out[t].as_mut_ptr(), y[t]) };
    }
}

/// # Safety
/// The processor must have AVX2, FMA and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub(in crate::kernels) unsafe fn tile_avx2(
    f: &TileFormat,
    tile: &[u8],
    x: &[Quantised<'_>],
    out: &mut [[f32; TILE]],
) {
    tile_generic::<Pairs>(f, tile, x, out);
}

/// Integer sums by `pmaddubsw`, which multiplies unsigned by signed bytes and adds neighbours in 16 bits.
struct Pairs;

impl Integer for Pairs {
    type Float = Avx2;
    const SIGNED: bool = true;

    #[inline(always)]
    fn sum4(codes: &[u8], q: &[i8]) -> [i32; TILE] {
        // SAFETY: instantiated only inside `tile_avx2`; `codes` comes in lines of 64 bytes and `q` holds
        // eight codes a line. Eight products of at most 15 · 127 fit 16 bits, so sums of a whole step of 32
        // columns (four lines, two products a lane each) do: 16 · 15 · 127 = 30 480.
        unsafe {
            let low = _mm256_set1_epi8(15);
            let mut sum = [_mm256_setzero_si256(); 2];
            for (line, q) in codes.chunks_exact(64).zip(q.chunks_exact(8)) {
                let q = q.as_ptr().cast::<i32>();
                let q0 = _mm256_set1_epi32(q.read_unaligned());
                let q1 = _mm256_set1_epi32(q.add(1).read_unaligned());
                for (h, sum) in sum.iter_mut().enumerate() {
                    let w = _mm256_loadu_si256(line.as_ptr().add(32 * h).cast());
                    let lo = _mm256_and_si256(w, low);
                    let hi = _mm256_and_si256(_mm256_srli_epi16::<4>(w), low);
                    *sum = _mm256_add_epi16(*sum, _mm256_maddubs_epi16(lo, q0));
                    *sum = _mm256_add_epi16(*sum, _mm256_maddubs_epi16(hi, q1));
                }
            }
            let ones = _mm256_set1_epi16(1);
            store(sum.map(|s| _mm256_madd_epi16(s, ones)))
        }
    }

    #[inline(always)]
    fn sum8(codes: &[u8], q: &[i8]) -> [i32; TILE] {
        // SAFETY: as above, with four columns a line. Codes are taken as code − 128 and their magnitude (at
        // most 128) multiplied by ±q: a pair is at most 2 · 128 · 127 = 32 512 and cannot saturate.
        unsafe {
            let offset = _mm256_set1_epi8(-128);
            let ones = _mm256_set1_epi16(1);
            let mut sum = [_mm256_setzero_si256(); 2];
            for (line, q) in codes.chunks_exact(64).zip(q.chunks_exact(4)) {
                let q = _mm256_set1_epi32(q.as_ptr().cast::<i32>().read_unaligned());
                for (h, sum) in sum.iter_mut().enumerate() {
                    let w = _mm256_loadu_si256(line.as_ptr().add(32 * h).cast());
                    let w = _mm256_xor_si256(w, offset);
                    let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(q, w));
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, ones));
                }
            }
            store(sum)
        }
    }
}

#[inline(always)]
unsafe fn store(sum: [__m256i; 2]) -> [i32; TILE] {
    let mut n = [0; TILE];
    // SAFETY: the array holds sixteen 32-bit integers.
    unsafe {
        _mm256_storeu_si256(n.as_mut_ptr().cast(), sum[0]);
        _mm256_storeu_si256(n.as_mut_ptr().add(8).cast(), sum[1]);
    }
    n
}
