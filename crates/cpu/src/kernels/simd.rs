//! A vector of single-precision numbers, on each path.
//!
//! Methods are `inline(always)` and use intrinsics of features the enclosing kernel enables; that is why
//! only kernels instantiated by `dispatch!` may use them. `LANES` differs by path, so sums over lanes do
//! too: results agree between paths to rounding, and are equal on one path.

/// `LANES` floats.
pub trait Vector: Copy {
    /// Lanes.
    const LANES: usize;
    /// All lanes `x`.
    fn splat(x: f32) -> Self;
    /// The first `LANES` of `x`.
    fn load(x: &[f32]) -> Self;
    /// The first `LANES` halves of `x`, widened.
    fn load_f16(x: &[u16]) -> Self;
    /// The first `LANES` bfloat16 of `x`, widened.
    fn load_bf16(x: &[u16]) -> Self;
    /// The first `LANES` unsigned bytes of `x`.
    #[inline(always)]
    fn load_u8(x: &[u8]) -> Self {
        let mut wide = [0.0; 16];
        for (w, x) in wide.iter_mut().zip(&x[..Self::LANES]) {
            *w = f32::from(*x);
        }
        Self::load(&wide)
    }
    /// The first `LANES` signed bytes of `x`.
    #[inline(always)]
    fn load_i8(x: &[u8]) -> Self {
        let mut wide = [0.0; 16];
        for (w, x) in wide.iter_mut().zip(&x[..Self::LANES]) {
            *w = f32::from(*x as i8);
        }
        Self::load(&wide)
    }
    /// Writes to the first `LANES` of `out`.
    fn store(self, out: &mut [f32]);
    /// `self + o`.
    fn add(self, o: Self) -> Self;
    /// `self − o`.
    fn sub(self, o: Self) -> Self;
    /// `self · o`.
    fn mul(self, o: Self) -> Self;
    /// `self / o`.
    fn div(self, o: Self) -> Self;
    /// `self · b + c`, rounded once where the path has it.
    fn fma(self, b: Self, c: Self) -> Self;
    /// Lane-wise maximum.
    fn max(self, o: Self) -> Self;
    /// Lane-wise minimum.
    fn min(self, o: Self) -> Self;
    /// To the nearest integer, ties to even.
    fn round(self) -> Self;
    /// `2^self` for integral lanes in −126..=127.
    fn pow2(self) -> Self;
    /// Sum of the lanes.
    fn sum(self) -> f32;

    /// `e^self`, relative error below 2e-7 (a degree-6 polynomial on ±ln2/2); clamped to the range of
    /// normal numbers.
    #[inline(always)]
    fn exp(self) -> Self {
        let x = self.max(Self::splat(-87.3)).min(Self::splat(88.0));
        let n = x.mul(Self::splat(std::f32::consts::LOG2_E)).round();
        // ln 2 in two parts keeps the reduced argument exact.
        let r = n.fma(Self::splat(-0.693_359_4), x);
        let r = n.fma(Self::splat(2.121_944_4e-4), r);
        let mut p = Self::splat(1.987_569_1e-4);
        for c in [
            1.398_199_9e-3,
            8.333_452e-3,
            4.166_579_6e-2,
            1.666_666_5e-1,
            0.5,
        ] {
            p = p.fma(r, Self::splat(c));
        }
        let p = p.fma(r.mul(r), r).add(Self::splat(1.0));
        p.mul(n.pow2())
    }
}

/// Portable: eight lanes the compiler may vectorise as it likes.
#[derive(Debug, Clone, Copy)]
pub struct Scalar([f32; 8]);

impl Scalar {
    #[inline(always)]
    fn zip(self, o: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        let mut r = self;
        for i in 0..8 {
            r.0[i] = f(r.0[i], o.0[i]);
        }
        r
    }
}

impl Vector for Scalar {
    const LANES: usize = 8;
    #[inline(always)]
    fn splat(x: f32) -> Self {
        Self([x; 8])
    }
    #[inline(always)]
    fn load(x: &[f32]) -> Self {
        Self(*x.first_chunk().expect("eight lanes"))
    }
    #[inline(always)]
    fn load_f16(x: &[u16]) -> Self {
        Self(
            x.first_chunk::<8>()
                .expect("eight lanes")
                .map(|h| half::f16::from_bits(h).to_f32()),
        )
    }
    #[inline(always)]
    fn load_bf16(x: &[u16]) -> Self {
        Self(
            x.first_chunk::<8>()
                .expect("eight lanes")
                .map(|h| f32::from_bits(u32::from(h) << 16)),
        )
    }
    #[inline(always)]
    fn store(self, out: &mut [f32]) {
        out[..8].copy_from_slice(&self.0);
    }
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        self.zip(o, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        self.zip(o, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        self.zip(o, |a, b| a * b)
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        self.zip(o, |a, b| a / b)
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        self.mul(b).add(c)
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        self.zip(o, f32::max)
    }
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        self.zip(o, f32::min)
    }
    #[inline(always)]
    fn round(self) -> Self {
        Self(self.0.map(f32::round_ties_even))
    }
    #[inline(always)]
    fn pow2(self) -> Self {
        Self(
            self.0
                .map(|n| f32::from_bits(((n as i32 + 127) as u32) << 23)),
        )
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        let x = self.0;
        ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]))
    }
}

#[cfg(target_arch = "aarch64")]
pub use super::neon::Neon;
#[cfg(target_arch = "x86_64")]
pub use super::x86::{Avx2, Avx512};
