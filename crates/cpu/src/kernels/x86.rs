//! The vector vocabulary in AVX2 and AVX-512.

pub(super) mod dot;
pub(super) mod few;
pub(super) mod gemm;

use std::arch::x86_64::*;

use super::simd::Vector;

/// Eight lanes.
#[derive(Debug, Clone, Copy)]
pub struct Avx2(__m256);

/// Sixteen lanes.
#[derive(Debug, Clone, Copy)]
pub struct Avx512(__m512);

/// Implements a method body whose only unsafety is the use of intrinsics.
macro_rules! simd {
    ($e:expr) => {
        // SAFETY: only code instantiated by `dispatch!` inside a function that enables these features
        // uses this type; loads and stores are bounded by the slice checks beside them.
        unsafe { $e }
    };
}

impl Vector for Avx2 {
    const LANES: usize = 8;
    #[inline(always)]
    fn splat(x: f32) -> Self {
        simd!(Self(_mm256_set1_ps(x)))
    }
    #[inline(always)]
    fn load(x: &[f32]) -> Self {
        let x = &x[..8];
        simd!(Self(_mm256_loadu_ps(x.as_ptr())))
    }
    #[inline(always)]
    fn load_f16(x: &[u16]) -> Self {
        let x = &x[..8];
        simd!(Self(_mm256_cvtph_ps(_mm_loadu_si128(x.as_ptr().cast()))))
    }
    #[inline(always)]
    fn load_bf16(x: &[u16]) -> Self {
        let x = &x[..8];
        simd!({
            let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(x.as_ptr().cast()));
            Self(_mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide)))
        })
    }
    #[inline(always)]
    fn load_u8(x: &[u8]) -> Self {
        let x = &x[..8];
        simd!({
            let wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64(x.as_ptr().cast()));
            Self(_mm256_cvtepi32_ps(wide))
        })
    }
    #[inline(always)]
    fn load_i8(x: &[u8]) -> Self {
        let x = &x[..8];
        simd!({
            let wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64(x.as_ptr().cast()));
            Self(_mm256_cvtepi32_ps(wide))
        })
    }
    #[inline(always)]
    fn store(self, out: &mut [f32]) {
        let out = &mut out[..8];
        simd!(_mm256_storeu_ps(out.as_mut_ptr(), self.0));
    }
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        simd!(Self(_mm256_add_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        simd!(Self(_mm256_sub_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        simd!(Self(_mm256_mul_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        simd!(Self(_mm256_div_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        simd!(Self(_mm256_fmadd_ps(self.0, b.0, c.0)))
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        simd!(Self(_mm256_max_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        simd!(Self(_mm256_min_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn round(self) -> Self {
        simd!(Self(_mm256_round_ps::<
            { _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC },
        >(self.0)))
    }
    #[inline(always)]
    fn pow2(self) -> Self {
        simd!({
            let n = _mm256_add_epi32(_mm256_cvtps_epi32(self.0), _mm256_set1_epi32(127));
            Self(_mm256_castsi256_ps(_mm256_slli_epi32::<23>(n)))
        })
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        simd!({
            let h = _mm_add_ps(
                _mm256_castps256_ps128(self.0),
                _mm256_extractf128_ps::<1>(self.0),
            );
            let h = _mm_add_ps(h, _mm_movehl_ps(h, h));
            _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps::<1>(h, h)))
        })
    }
}

impl Vector for Avx512 {
    const LANES: usize = 16;
    #[inline(always)]
    fn splat(x: f32) -> Self {
        simd!(Self(_mm512_set1_ps(x)))
    }
    #[inline(always)]
    fn load(x: &[f32]) -> Self {
        let x = &x[..16];
        simd!(Self(_mm512_loadu_ps(x.as_ptr())))
    }
    #[inline(always)]
    fn load_f16(x: &[u16]) -> Self {
        let x = &x[..16];
        simd!(Self(_mm512_cvtph_ps(_mm256_loadu_si256(x.as_ptr().cast()))))
    }
    #[inline(always)]
    fn load_bf16(x: &[u16]) -> Self {
        let x = &x[..16];
        simd!({
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(x.as_ptr().cast()));
            Self(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide)))
        })
    }
    #[inline(always)]
    fn load_u8(x: &[u8]) -> Self {
        let x = &x[..16];
        simd!({
            let wide = _mm512_cvtepu8_epi32(_mm_loadu_si128(x.as_ptr().cast()));
            Self(_mm512_cvtepi32_ps(wide))
        })
    }
    #[inline(always)]
    fn load_i8(x: &[u8]) -> Self {
        let x = &x[..16];
        simd!({
            let wide = _mm512_cvtepi8_epi32(_mm_loadu_si128(x.as_ptr().cast()));
            Self(_mm512_cvtepi32_ps(wide))
        })
    }
    #[inline(always)]
    fn store(self, out: &mut [f32]) {
        let out = &mut out[..16];
        simd!(_mm512_storeu_ps(out.as_mut_ptr(), self.0));
    }
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        simd!(Self(_mm512_add_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        simd!(Self(_mm512_sub_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        simd!(Self(_mm512_mul_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        simd!(Self(_mm512_div_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        simd!(Self(_mm512_fmadd_ps(self.0, b.0, c.0)))
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        simd!(Self(_mm512_max_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        simd!(Self(_mm512_min_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn round(self) -> Self {
        simd!(Self(_mm512_roundscale_ps::<
            { _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC },
        >(self.0)))
    }
    #[inline(always)]
    fn pow2(self) -> Self {
        simd!({
            let n = _mm512_add_epi32(_mm512_cvtps_epi32(self.0), _mm512_set1_epi32(127));
            Self(_mm512_castsi512_ps(_mm512_slli_epi32::<23>(n)))
        })
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        simd!(_mm512_reduce_add_ps(self.0))
    }
}
