//! The inner loops, once per instruction set path.
//!
//! * [`dot`]: 16 rows of quantised weights times quantised activations;
//! * [`float`]: rows of unquantised weights times activations in single precision;
//! * [`gemm`]: the same for many tokens;
//! * [`quantise`]: activations for the two;
//! * [`rows`]: RMS norm, SwiGLU;
//! * [`attend`]: scores and weighted values of one page.
//!
//! [`simd`] is the vocabulary the others are written in.

pub mod attend;
pub mod dot;
pub mod float;
pub mod gemm;
pub mod quantise;
pub mod rows;
pub mod simd;

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

/// Instantiates a function generic over [`simd::Vector`] once per path and dispatches on [`crate::Isa`].
macro_rules! dispatch {
    ($isa:expr, $generic:ident ( $($arg:ident : $ty:ty),* ) $(-> $ret:ty)?) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c")]
        fn avx2($($arg: $ty),*) $(-> $ret)? { $generic::<$crate::kernels::simd::Avx2>($($arg),*) }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c")]
        fn avx512($($arg: $ty),*) $(-> $ret)? { $generic::<$crate::kernels::simd::Avx512>($($arg),*) }
        #[cfg(target_arch = "aarch64")]
        #[target_feature(enable = "neon")]
        fn neon($($arg: $ty),*) $(-> $ret)? { $generic::<$crate::kernels::simd::Neon>($($arg),*) }
        match $isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an `Isa` other than scalar is only ever chosen after its features were detected.
            $crate::Isa::Avx2 => unsafe { avx2($($arg),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            $crate::Isa::Avx512 => unsafe { avx512($($arg),*) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            $crate::Isa::Neon | $crate::Isa::NeonDot => unsafe { neon($($arg),*) },
            _ => $generic::<$crate::kernels::simd::Scalar>($($arg),*),
        }
    }};
}
pub(crate) use dispatch;
