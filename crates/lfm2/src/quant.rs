//! Weight tensors as the file stores them: plain floats, grouped quantised weights, K-quants.

mod blocks;
mod decode;
mod encode;
mod encode_k;

pub use blocks::{k_block_bytes, six_bit_pair};
pub use encode::{mlx_affine, q4_0, q8_0};
pub use encode_k::k_quantise;

/// Element type of plain floats and of scales.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloatType {
    /// IEEE single precision, little-endian.
    F32,
    /// IEEE half precision, little-endian.
    F16,
    /// bfloat16, little-endian.
    Bf16,
}

impl FloatType {
    /// Bytes per element.
    pub fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }
}

/// How a group of quantised weights gets its zero point: `w = scale·q + zero`.
#[derive(Debug, Clone, Copy)]
pub enum Zero<'a> {
    /// MLX affine: one stored bias per group, of the scales' type.
    Stored(&'a [u8]),
    /// GGUF Q4_0: `zero = -8·scale`.
    Implied,
    /// GGUF Q8_0: the codes are signed and the zero point is 0.
    None,
}

/// Where the codes and scales of a [`QuantTensor`] lie.
#[derive(Debug, Clone, Copy)]
pub enum QuantLayout<'a> {
    /// MLX: `rows · cols · bits/8` bytes of codes, least significant first, and a separate array of
    /// `rows · cols/group` scales of type `scale_type`.
    Separate {
        /// Packed unsigned codes.
        codes: &'a [u8],
        /// Scales, row-major.
        scales: &'a [u8],
    },
    /// GGUF: blocks of (f16 scale, codes). Q4_0 keeps value `i` in the low nibble of byte `i` and value
    /// `i + 16` in the high one; Q8_0 keeps signed bytes.
    Blocks(&'a [u8]),
}

/// Grouped quantised weights of shape `[rows, cols]`, borrowed from the file.
#[derive(Debug, Clone, Copy)]
pub struct QuantTensor<'a> {
    /// 4 or 8.
    pub bits: u32,
    /// Consecutive inputs that share a scale: 32, 64 or 128.
    pub group: usize,
    /// Type of the scales (and stored biases).
    pub scale_type: FloatType,
    /// Zero point rule.
    pub zero: Zero<'a>,
    /// Codes and scales.
    pub layout: QuantLayout<'a>,
}

/// The K-quants of GGUF: super-blocks of 256 weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KQuant {
    /// 4.5 bits per weight, 144 bytes per 256.
    Q4K,
    /// 5.5 bits per weight, 176 bytes per 256.
    Q5K,
    /// 6.5625 bits per weight, 210 bytes per 256.
    Q6K,
}

/// The bytes of a [`WeightTensor`].
#[derive(Debug, Clone, Copy)]
pub enum WeightData<'a> {
    /// Plain floats, row-major; the bytes may be unaligned.
    Float(FloatType, &'a [u8]),
    /// Grouped quantised weights.
    Quant(QuantTensor<'a>),
    /// K-quants in GGUF's own blocks, row-major.
    K(KQuant, &'a [u8]),
}

/// A `[rows, cols]` tensor as the file stores it.
#[derive(Debug, Clone, Copy)]
pub struct WeightTensor<'a> {
    /// Outputs (1 for vectors).
    pub rows: usize,
    /// Inputs.
    pub cols: usize,
    /// Stored bytes.
    pub data: WeightData<'a>,
}
