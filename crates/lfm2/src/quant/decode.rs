//! From stored bytes to single precision.

use half::{bf16, f16};

use super::{FloatType, KQuant, QuantLayout, QuantTensor, WeightData, WeightTensor, Zero, blocks};

impl FloatType {
    /// Element `i` of `bytes`.
    pub fn get(self, bytes: &[u8], i: usize) -> f32 {
        match self {
            Self::F32 => {
                let b = &bytes[4 * i..][..4];
                f32::from_le_bytes([b[0], b[1], b[2], b[3]])
            }
            Self::F16 => f16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]).to_f32(),
            Self::Bf16 => bf16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]).to_f32(),
        }
    }
}

impl QuantTensor<'_> {
    /// Bytes of a block of the GGUF layout.
    fn block_bytes(&self) -> usize {
        2 + self.group * self.bits as usize / 8
    }

    fn row(&self, r: usize, out: &mut [f32]) {
        let cols = out.len();
        let groups = cols / self.group;
        match self.layout {
            QuantLayout::Separate { codes, scales } => {
                let row_bytes = cols * self.bits as usize / 8;
                let row = &codes[r * row_bytes..][..row_bytes];
                let per_group = self.group * self.bits as usize / 8;
                for (g, (out, codes)) in out
                    .chunks_exact_mut(self.group)
                    .zip(row.chunks_exact(per_group))
                    .enumerate()
                {
                    let at = r * groups + g;
                    let s = self.scale_type.get(scales, at);
                    let z = match self.zero {
                        Zero::Stored(z) => self.scale_type.get(z, at),
                        Zero::Implied => -8.0 * s,
                        Zero::None => 0.0,
                    };
                    if self.bits == 4 {
                        for (o, b) in out.chunks_exact_mut(2).zip(codes) {
                            o[0] = s * f32::from(b & 15) + z;
                            o[1] = s * f32::from(b >> 4) + z;
                        }
                    } else {
                        for (o, b) in out.iter_mut().zip(codes) {
                            *o = s * f32::from(*b) + z;
                        }
                    }
                }
            }
            QuantLayout::Blocks(blocks) => {
                let size = self.block_bytes();
                let row = &blocks[r * groups * size..][..groups * size];
                for (out, b) in out.chunks_exact_mut(self.group).zip(row.chunks_exact(size)) {
                    let s = blocks::f16(b);
                    if self.bits == 4 {
                        let (lo, hi) = out.split_at_mut(self.group / 2);
                        for ((lo, hi), b) in lo.iter_mut().zip(hi).zip(&b[2..]) {
                            *lo = s * (f32::from(b & 15) - 8.0);
                            *hi = s * (f32::from(b >> 4) - 8.0);
                        }
                    } else {
                        for (o, b) in out.iter_mut().zip(&b[2..]) {
                            *o = s * f32::from(*b as i8);
                        }
                    }
                }
            }
        }
    }
}

impl WeightTensor<'_> {
    /// Row `r` in single precision; `out` has `cols` elements.
    pub fn row_f32(&self, r: usize, out: &mut [f32]) {
        assert_eq!(out.len(), self.cols);
        match self.data {
            WeightData::Float(float, bytes) => {
                let row = &bytes[r * self.cols * float.size()..][..self.cols * float.size()];
                match float {
                    FloatType::F32 => out
                        .iter_mut()
                        .zip(row.chunks_exact(4))
                        .for_each(|(o, b)| *o = f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
                    FloatType::F16 => out
                        .iter_mut()
                        .zip(row.chunks_exact(2))
                        .for_each(|(o, b)| *o = f16::from_le_bytes([b[0], b[1]]).to_f32()),
                    FloatType::Bf16 => out
                        .iter_mut()
                        .zip(row.chunks_exact(2))
                        .for_each(|(o, b)| *o = bf16::from_le_bytes([b[0], b[1]]).to_f32()),
                }
            }
            WeightData::Quant(q) => q.row(r, out),
            WeightData::K(kind, bytes) => {
                let size = blocks::k_block_bytes(kind);
                let row = &bytes[r * self.cols / 256 * size..][..self.cols / 256 * size];
                for (out, b) in out.chunks_exact_mut(256).zip(row.chunks_exact(size)) {
                    blocks::decode_k(kind, b, out);
                }
            }
        }
    }

    /// The whole tensor in single precision, row-major.
    pub fn to_f32(&self) -> Vec<f32> {
        let mut out = vec![0.0; self.rows * self.cols];
        for (r, row) in out.chunks_exact_mut(self.cols).enumerate() {
            self.row_f32(r, row);
        }
        out
    }

    /// Stored bytes, scales included.
    pub fn stored_bytes(&self) -> usize {
        match self.data {
            WeightData::Float(_, b) | WeightData::K(_, b) => b.len(),
            WeightData::Quant(q) => match q.layout {
                QuantLayout::Separate { codes, scales } => {
                    let zeros = if let Zero::Stored(z) = q.zero {
                        z.len()
                    } else {
                        0
                    };
                    codes.len() + scales.len() + zeros
                }
                QuantLayout::Blocks(b) => b.len(),
            },
        }
    }

    /// Stored bits per weight, scales included.
    pub fn bits_per_weight(&self) -> f64 {
        8.0 * self.stored_bytes() as f64 / (self.rows as f64 * self.cols as f64)
    }

    /// The storage type's name in reports.
    pub fn type_name(&self) -> String {
        match self.data {
            WeightData::Float(FloatType::F32, _) => "F32".to_owned(),
            WeightData::Float(FloatType::F16, _) => "F16".to_owned(),
            WeightData::Float(FloatType::Bf16, _) => "BF16".to_owned(),
            WeightData::K(KQuant::Q4K, _) => "Q4_K".to_owned(),
            WeightData::K(KQuant::Q5K, _) => "Q5_K".to_owned(),
            WeightData::K(KQuant::Q6K, _) => "Q6_K".to_owned(),
            WeightData::Quant(q) => match q.zero {
                Zero::Stored(_) => format!("{}-bit g{}", q.bits, q.group),
                Zero::Implied => "Q4_0".to_owned(),
                Zero::None => "Q8_0".to_owned(),
            },
        }
    }

    /// The bytes from which [`Self::first_not_finite`] counts: those of the scales where they lie apart.
    pub fn scales(&self) -> &[u8] {
        match self.data {
            WeightData::Float(_, b) | WeightData::K(_, b) => b,
            WeightData::Quant(q) => match q.layout {
                QuantLayout::Separate { scales, .. } => scales,
                QuantLayout::Blocks(b) => b,
            },
        }
    }

    /// Looks for scales, biases (or plain values) that are not finite; one poisons every result. Returns
    /// what it is and its byte offset within [`Self::scales`] (of a bias: the offset of its scale).
    pub fn first_not_finite(&self) -> Option<(&'static str, usize)> {
        match self.data {
            WeightData::Float(float, b) => {
                let size = float.size();
                (0..b.len() / size)
                    .find(|i| !float.get(b, *i).is_finite())
                    .map(|i| ("value", i * size))
            }
            WeightData::Quant(q) => match q.layout {
                QuantLayout::Separate { scales, .. } => {
                    let bad = |b: &[u8], i: usize| !q.scale_type.get(b, i).is_finite();
                    let size = q.scale_type.size();
                    (0..scales.len() / size).find_map(|i| {
                        if bad(scales, i) {
                            return Some(("scale", i * size));
                        }
                        matches!(q.zero, Zero::Stored(z) if bad(z, i)).then_some(("bias", i * size))
                    })
                }
                QuantLayout::Blocks(b) => bad_block(b, q.block_bytes(), &[0]),
            },
            WeightData::K(kind, b) => {
                let places: &[usize] = match kind {
                    KQuant::Q4K | KQuant::Q5K => &[0, 2],
                    KQuant::Q6K => &[208],
                };
                bad_block(b, blocks::k_block_bytes(kind), places)
            }
        }
    }
}

/// The first of the f16 scales at `places` of each block of `size` bytes that is not finite.
fn bad_block(b: &[u8], size: usize, places: &[usize]) -> Option<(&'static str, usize)> {
    b.chunks_exact(size).enumerate().find_map(|(i, block)| {
        let p = places
            .iter()
            .find(|p| !blocks::f16(&block[**p..]).is_finite())?;
        Some(("scale", i * size + p))
    })
}
