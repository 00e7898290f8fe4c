//! Instruction set paths.

/// A way through the kernels. All compute the same formulas in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isa {
    /// Portable Rust.
    Scalar,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// x86-64 with AVX-512 F/BW/VL and VNNI.
    Avx512,
    /// AArch64 NEON without the dot-product extension.
    Neon,
    /// AArch64 NEON with the dot-product extension.
    NeonDot,
}

impl Isa {
    /// Every path, worst first.
    pub const ALL: [Self; 5] = [
        Self::Scalar,
        Self::Avx2,
        Self::Avx512,
        Self::Neon,
        Self::NeonDot,
    ];

    /// The name used in reports and in `MOLTEN_ISA`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512-vnni",
            Self::Neon => "neon",
            Self::NeonDot => "neon-dotprod",
        }
    }

    /// The path called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|i| i.name() == name)
    }

    /// Whether this processor runs it.
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vnni")
            }
            #[cfg(target_arch = "aarch64")]
            Self::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            #[cfg(target_arch = "aarch64")]
            Self::NeonDot => {
                Self::Neon.is_available() && std::arch::is_aarch64_feature_detected!("dotprod")
            }
            #[allow(unreachable_patterns)]
            _ => false,
        }
    }

    /// The paths this processor runs, worst first.
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|i| i.is_available()).collect()
    }

    /// The best path of this processor.
    pub fn detect() -> Self {
        Self::available().pop().unwrap_or(Self::Scalar)
    }
}
