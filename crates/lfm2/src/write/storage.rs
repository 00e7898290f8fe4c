//! How one tensor is stored, and rows encoded so.

use crate::quant::{FloatType, KQuant, k_block_bytes, k_quantise, mlx_affine, q4_0, q8_0};

/// A storage type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// Plain floats.
    Float(FloatType),
    /// MLX affine: codes, scales and biases in three arrays.
    Affine {
        /// 4 or 8.
        bits: u32,
        /// 32, 64 or 128.
        group: usize,
        /// Type of scales and biases.
        float: FloatType,
    },
    /// GGUF blocks of 32 at 4 bits.
    Q4_0,
    /// GGUF blocks of 32 at 8 bits.
    Q8_0,
    /// GGUF super-blocks.
    K(KQuant),
}

/// Encoded rows. Only MLX affine uses the second and third part.
#[derive(Debug, Clone, Default)]
pub struct Encoded {
    /// Values, codes or blocks.
    pub main: Vec<u8>,
    /// Scales.
    pub scales: Vec<u8>,
    /// Biases.
    pub biases: Vec<u8>,
}

impl Encoded {
    /// Empties all parts.
    pub fn clear(&mut self) {
        self.main.clear();
        self.scales.clear();
        self.biases.clear();
    }

    /// The parts in the order of [`Storage::row_bytes`].
    pub fn parts(&self) -> [&[u8]; 3] {
        [&self.main, &self.scales, &self.biases]
    }
}

impl Storage {
    /// Weights that are encoded together: rows are a multiple of it.
    pub fn block(self) -> usize {
        match self {
            Self::Float(_) => 1,
            Self::Affine { group, .. } => group,
            Self::Q4_0 | Self::Q8_0 => 32,
            Self::K(_) => 256,
        }
    }

    /// Bytes of a row of `cols` weights: main part, scales, biases.
    pub fn row_bytes(self, cols: usize) -> [usize; 3] {
        match self {
            Self::Float(f) => [cols * f.size(), 0, 0],
            Self::Affine { bits, group, float } => {
                let scales = cols / group * float.size();
                [cols * bits as usize / 8, scales, scales]
            }
            Self::Q4_0 => [cols / 32 * 18, 0, 0],
            Self::Q8_0 => [cols / 32 * 34, 0, 0],
            Self::K(k) => [cols / 256 * k_block_bytes(k), 0, 0],
        }
    }

    /// Appends the encoding of whole rows.
    pub fn encode(self, w: &[f32], out: &mut Encoded) {
        match self {
            Self::Float(f) => f.put_all(w, &mut out.main),
            Self::Affine { bits, group, float } => mlx_affine(
                w,
                bits,
                group,
                float,
                &mut out.main,
                &mut out.scales,
                &mut out.biases,
            ),
            Self::Q4_0 => q4_0(w, &mut out.main),
            Self::Q8_0 => q8_0(w, &mut out.main),
            Self::K(k) => k_quantise(k, w, &mut out.main),
        }
    }
}
