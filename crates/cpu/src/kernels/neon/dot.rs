//! Quantised tiles on NEON. Geometry and formula: see [`crate::kernels::dot`].

use std::arch::aarch64::*;
use std::arch::asm;

use crate::kernels::dot::{Act, Integer, TILE, Tile, tile_generic};
use crate::kernels::simd::Neon;

/// # Safety
/// The processor must have NEON and the dot-product extension.
#[target_feature(enable = "neon,dotprod")]
pub(in crate::kernels) unsafe fn tile_dotprod(
    tile: Tile<'_>,
    x: &[Act<'_>],
    out: &mut [[f32; TILE]],
) {
    tile_generic::<Lanes<true>>(tile, x, out);
}

/// # Safety
/// The processor must have NEON.
#[target_feature(enable = "neon")]
pub(in crate::kernels) unsafe fn tile_plain(
    tile: Tile<'_>,
    x: &[Act<'_>],
    out: &mut [[f32; TILE]],
) {
    tile_generic::<Lanes<false>>(tile, x, out);
}

/// Integer sums in four vectors of four rows.
struct Lanes<const DOT: bool>;

impl<const DOT: bool> Lanes<DOT> {
    /// Adds, for each of four rows, the products of four neighbouring signed bytes.
    #[inline(always)]
    unsafe fn add(mut sum: int32x4_t, w: int8x16_t, q: int8x16_t) -> int32x4_t {
        // SAFETY: `DOT` is only true inside `tile_dotprod`.
        unsafe {
            if DOT {
                // The intrinsic is unstable; the instruction is not.
                asm!("sdot {s:v}.4s, {w:v}.16b, {q:v}.16b", s = inout(vreg) sum, w = in(vreg) w,
                     q = in(vreg) q, options(pure, nomem, nostack, preserves_flags));
                sum
            } else {
                let lo = vpaddlq_s16(vmull_s8(vget_low_s8(w), vget_low_s8(q)));
                let hi = vpaddlq_s16(vmull_high_s8(w, q));
                vaddq_s32(sum, vpaddq_s32(lo, hi))
            }
        }
    }
}

impl<const DOT: bool> Integer for Lanes<DOT> {
    type Float = Neon;
    const SIGNED: bool = true;

    #[inline(always)]
    fn sum4(codes: &[u8], q: &[i8]) -> [i32; TILE] {
        // SAFETY: instantiated only inside the functions above; a line is 64 bytes and has eight codes of `q`.
        unsafe {
            let mut sum = [vdupq_n_s32(0); 4];
            let low = vdupq_n_u8(15);
            for (line, q) in codes.chunks_exact(64).zip(q.chunks_exact(8)) {
                let q = q.as_ptr().cast::<i32>();
                let q0 = vreinterpretq_s8_s32(vdupq_n_s32(q.read_unaligned()));
                let q1 = vreinterpretq_s8_s32(vdupq_n_s32(q.add(1).read_unaligned()));
                for (h, sum) in sum.iter_mut().enumerate() {
                    let w = vld1q_u8(line.as_ptr().add(16 * h));
                    let lo = vreinterpretq_s8_u8(vandq_u8(w, low));
                    let hi = vreinterpretq_s8_u8(vshrq_n_u8::<4>(w));
                    *sum = Self::add(*sum, lo, q0);
                    *sum = Self::add(*sum, hi, q1);
                }
            }
            store(sum)
        }
    }

    #[inline(always)]
    fn sum8(codes: &[u8], q: &[i8]) -> [i32; TILE] {
        // SAFETY: as above, with four columns a line.
        unsafe {
            let mut sum = [vdupq_n_s32(0); 4];
            let offset = vdupq_n_u8(128);
            for (line, q) in codes.chunks_exact(64).zip(q.chunks_exact(4)) {
                let q =
                    vreinterpretq_s8_s32(vdupq_n_s32(q.as_ptr().cast::<i32>().read_unaligned()));
                for (h, sum) in sum.iter_mut().enumerate() {
                    let w = veorq_u8(vld1q_u8(line.as_ptr().add(16 * h)), offset);
                    *sum = Self::add(*sum, vreinterpretq_s8_u8(w), q);
                }
            }
            store(sum)
        }
    }
}

#[inline(always)]
unsafe fn store(sum: [int32x4_t; 4]) -> [i32; TILE] {
    let mut n = [0; TILE];
    // SAFETY: the array holds four vectors of four integers.
    unsafe {
        for (i, s) in sum.into_iter().enumerate() {
            vst1q_s32(n.as_mut_ptr().add(4 * i), s);
        }
    }
    n
}
