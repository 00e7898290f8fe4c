//! Where intermediate results are rounded.

use half::bf16;

/// The rounding points of a forward pass. Sums are always accumulated in single precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numerics {
    /// Single precision everywhere: the oracle.
    F32,
    /// bf16 at the points where mlx-lm 0.32.2 rounds when the model's type is bf16.
    MlxBf16,
}

impl Numerics {
    /// Rounds `x` to the activation type.
    pub fn round(self, x: f32) -> f32 {
        match self {
            Self::F32 => x,
            Self::MlxBf16 => bf16::from_f32(x).to_f32(),
        }
    }

    /// The logistic function. In bf16, mlx evaluates `1/(1 + exp(|x|))`, rounding each step, and
    /// reflects it for non-negative `x`.
    pub fn sigmoid(self, x: f32) -> f32 {
        match self {
            Self::F32 => 1.0 / (1.0 + (-x).exp()),
            Self::MlxBf16 => {
                let r = |v| self.round(v);
                let y = r(1.0 / r(1.0 + r(x.abs().exp())));
                if x < 0.0 { y } else { r(1.0 - y) }
            }
        }
    }

    /// `silu(g)·u`, the activation of a SwiGLU block.
    pub fn swiglu(self, g: f32, u: f32) -> f32 {
        let r = |v| self.round(v);
        r(r(g * self.sigmoid(g)) * u)
    }
}
