//! Quantised tiles on AVX2. Geometry and formula: see [`crate::kernels::dot`].

use std::arch::x86_64::*;

use crate::kernels::dot::{Act, Integer, TILE, Tile, tile_generic};
use crate::kernels::simd::Avx2;

/// # Safety
/// The processor must have AVX2, FMA and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub(in crate::kernels) unsafe fn tile_avx2(tile: Tile<'_>, x: &[Act<'_>], out: &mut [[f32; TILE]]) {
    tile_generic::<Pairs>(tile, x, out);
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
