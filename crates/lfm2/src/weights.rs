//! Weights as the files store them, behind one trait.

use crate::config::Config;
use crate::error::Result;
use crate::quant::WeightTensor;
use crate::tensor::TensorId;

/// How a container stores a tensor, for `molten inspect`.
#[derive(Debug, Clone)]
pub struct TensorEntry {
    /// Name in the file.
    pub name: String,
    /// Shape in row-major order, slowest dimension first (GGUF's order reversed).
    pub shape: Vec<u64>,
    /// Storage type as the format names it, e.g. `BF16`, `Q4_K`, `U32`.
    pub dtype: String,
    /// Stored bytes.
    pub bytes: u64,
    /// File that holds it.
    pub file: std::path::PathBuf,
    /// Offset of its first byte in that file.
    pub offset: u64,
}

/// The container family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Hugging Face safetensors (bf16, f16, f32).
    HuggingFace,
    /// MLX safetensors (affine 4 or 8 bits, or unquantised with MLX names).
    Mlx,
    /// GGUF.
    Gguf,
}

impl Format {
    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::HuggingFace => "safetensors",
            Self::Mlx => "mlx",
            Self::Gguf => "gguf",
        }
    }
}

/// A model's weights, wherever they are stored. Implementations map their files and hand out views.
pub trait WeightSource: Send + Sync {
    /// The container family.
    fn format(&self) -> Format;
    /// The model's configuration; every tensor was checked against it when the source was opened.
    fn config(&self) -> &Config;
    /// A view of one tensor, exactly of shape [`TensorId::shape`]. Zero copies.
    ///
    /// # Errors
    /// When the stored bytes are not usable (for instance a NaN scale), naming file, tensor and offset.
    fn tensor(&self, id: TensorId) -> Result<WeightTensor<'_>>;
    /// Every stored tensor, in file order.
    fn entries(&self) -> Vec<TensorEntry>;
}
