//! The vector vocabulary in NEON.

pub(super) mod dot;

use std::arch::aarch64::*;
use std::arch::asm;

use super::simd::Vector;

/// Four lanes.
#[derive(Debug, Clone, Copy)]
pub struct Neon(float32x4_t);

/// Implements a method body whose only unsafety is the use of intrinsics.
macro_rules! simd {
    ($e:expr) => {
        // SAFETY: NEON is part of every AArch64 target this crate is built for; loads and stores are
        // bounded by the slice checks beside them.
        unsafe { $e }
    };
}

impl Vector for Neon {
    const LANES: usize = 4;
    #[inline(always)]
    fn splat(x: f32) -> Self {
        simd!(Self(vdupq_n_f32(x)))
    }
    #[inline(always)]
    fn load(x: &[f32]) -> Self {
        let x = &x[..4];
        simd!(Self(vld1q_f32(x.as_ptr())))
    }
    #[inline(always)]
    fn load_f16(x: &[u16]) -> Self {
        let x = &x[..4];
        simd!({
            let half = vld1_u16(x.as_ptr());
            let wide: float32x4_t;
            // The intrinsic needs the unstable f16 type; the instruction is in the base architecture.
            asm!("fcvtl {w:v}.4s, {h:v}.4h", w = out(vreg) wide, h = in(vreg) half,
                 options(pure, nomem, nostack, preserves_flags));
            Self(wide)
        })
    }
    #[inline(always)]
    fn load_bf16(x: &[u16]) -> Self {
        let x = &x[..4];
        simd!(Self(vreinterpretq_f32_u32(vshll_n_u16::<16>(vld1_u16(
            x.as_ptr()
        )))))
    }
    #[inline(always)]
    fn store(self, out: &mut [f32]) {
        let out = &mut out[..4];
        simd!(vst1q_f32(out.as_mut_ptr(), self.0));
    }
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        simd!(Self(vaddq_f32(self.0, o.0)))
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        simd!(Self(vsubq_f32(self.0, o.0)))
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        simd!(Self(vmulq_f32(self.0, o.0)))
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        simd!(Self(vdivq_f32(self.0, o.0)))
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        simd!(Self(vfmaq_f32(c.0, self.0, b.0)))
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        simd!(Self(vmaxq_f32(self.0, o.0)))
    }
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        simd!(Self(vminq_f32(self.0, o.0)))
    }
    #[inline(always)]
    fn round(self) -> Self {
        simd!(Self(vrndnq_f32(self.0)))
    }
    #[inline(always)]
    fn pow2(self) -> Self {
        simd!({
            let n = vaddq_s32(vcvtq_s32_f32(self.0), vdupq_n_s32(127));
            Self(vreinterpretq_f32_s32(vshlq_n_s32::<23>(n)))
        })
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        simd!(vaddvq_f32(self.0))
    }
}
