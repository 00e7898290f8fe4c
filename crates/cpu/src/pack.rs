//! Weights in this backend's own layout.

mod bytes;
mod codes;

use lfm2::quant::{FloatType, WeightData, WeightTensor};

use crate::kernels::dot::{TILE, expand};
use crate::kernels::float::Row;
use crate::kernels::simd::Scalar;
use crate::team::{Disjoint, Team};
pub use bytes::Bytes;
use codes::RowCodes;

/// How a tile keeps the scales of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scales {
    /// One number a row, and a zero after it where the file stores one.
    Plain {
        /// Type of both, the file's own.
        float: FloatType,
        /// Whether zeros are stored; otherwise they are `implied_zero · scale`.
        stored_zero: bool,
    },
    /// K-quants: an f16 factor times a small integer a row, and the same for the minimum where there is one.
    Super {
        /// Whether a minimum is stored (Q4_K, Q5_K) or implied (Q6_K).
        min: bool,
    },
}

/// The layout of a quantised matrix's tiles.
///
/// A tile holds 16 rows: first a header with the scales (and zeros) of all its groups, padded to a cache
/// line, then the codes of its columns, 32 at a time, in lines of 64 bytes. A line of eight-bit codes is
/// four neighbouring columns of 16 rows; one of four-bit codes is two such fours, in the low and the high
/// nibbles. Six-bit codes are four lines of low nibbles, then two lines of the upper bits, two bits a
/// column, four fours a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileFormat {
    /// Bits per code: 4, 6 or 8.
    pub bits: u32,
    /// Columns that share a scale: 16 to 128.
    pub group: usize,
    /// Where scales come from.
    pub scales: Scales,
    /// `zero / scale` where zeros are not stored.
    pub implied_zero: i32,
}

/// Columns of a K-quant's super-block.
pub(crate) const SUPER: usize = 256;
/// Columns whose codes lie together.
pub(crate) const STEP: usize = 32;

impl TileFormat {
    /// Bytes of a tile's header, a multiple of 64.
    pub fn header_bytes(&self, cols: usize) -> usize {
        let bytes = match self.scales {
            Scales::Plain { float, stored_zero } => {
                cols / self.group * TILE * float.size() * if stored_zero { 2 } else { 1 }
            }
            Scales::Super { .. } => cols / SUPER * self.super_bytes(),
        };
        bytes.next_multiple_of(64)
    }

    /// Header bytes of a super-block: its factors, then the small integers group by group.
    pub(crate) fn super_bytes(&self) -> usize {
        let numbers = if self.stored_zero() { 2 } else { 1 };
        TILE * numbers * (2 + SUPER / self.group)
    }

    /// Bytes of the codes of 32 columns of a tile.
    pub(crate) fn step_bytes(&self) -> usize {
        64 * self.bits as usize
    }

    /// Bytes of a tile with `cols` columns.
    pub fn tile_bytes(&self, cols: usize) -> usize {
        self.header_bytes(cols) + cols / STEP * self.step_bytes()
    }

    /// Whether each group has a zero of its own.
    pub fn stored_zero(&self) -> bool {
        matches!(
            self.scales,
            Scales::Plain {
                stored_zero: true,
                ..
            } | Scales::Super { min: true }
        )
    }
}

/// A matrix ready for the kernels.
#[derive(Debug)]
pub struct Matrix {
    /// Outputs.
    pub rows: usize,
    /// Inputs.
    pub cols: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Tiles { format: TileFormat, bytes: Bytes },
    F32(Vec<f32>),
    F16(Vec<u16>),
    Bf16(Vec<u16>),
}

/// One unit of work of a matrix product: 16 rows.
#[derive(Debug, Clone, Copy)]
pub enum Tile<'a> {
    /// Quantised rows.
    Quantised(TileFormat, &'a [u8]),
    /// The first of up to 16 plain rows.
    Plain(usize),
}

impl Matrix {
    /// Packs `t`, its tiles spread over the team.
    pub fn pack(t: &WeightTensor<'_>, team: &Team) -> Self {
        let kind = match t.data {
            WeightData::Float(FloatType::F32, b) => Kind::F32(
                b.chunks_exact(4)
                    .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                    .collect(),
            ),
            WeightData::Float(FloatType::F16, b) => Kind::F16(halves(b)),
            WeightData::Float(FloatType::Bf16, b) => Kind::Bf16(halves(b)),
            _ => Self::tiles(t, team),
        };
        Self {
            rows: t.rows,
            cols: t.cols,
            kind,
        }
    }

    /// A matrix kept in single precision whatever the file stores: for routers, whose choices should not
    /// depend on how activations are rounded.
    pub fn exact(t: &WeightTensor<'_>) -> Self {
        Self {
            rows: t.rows,
            cols: t.cols,
            kind: Kind::F32(t.to_f32()),
        }
    }

    fn tiles(t: &WeightTensor<'_>, team: &Team) -> Kind {
        let source = RowCodes::new(t);
        let format = source.format();
        let tile_bytes = format.tile_bytes(t.cols);
        let n = t.rows.div_ceil(TILE);
        let mut bytes = Bytes::zeroed(n * tile_bytes);
        {
            let out = Disjoint::new(bytes.as_mut_slice());
            team.for_ranges(n, |range| {
                for i in range {
                    // SAFETY: tiles do not overlap and each is written by one thread.
                    let tile = unsafe { out.slice(i * tile_bytes..(i + 1) * tile_bytes) };
                    source.write(i * TILE, tile);
                }
            });
        }
        Kind::Tiles { format, bytes }
    }

    /// Number of [`Tile`]s.
    pub fn tiles_len(&self) -> usize {
        self.rows.div_ceil(TILE)
    }

    /// Tile `i`.
    pub fn tile(&self, i: usize) -> Tile<'_> {
        match &self.kind {
            Kind::Tiles { format, bytes } => {
                let size = format.tile_bytes(self.cols);
                Tile::Quantised(*format, &bytes.as_slice()[i * size..][..size])
            }
            _ => Tile::Plain(i * TILE),
        }
    }

    /// Row `r` of a plain matrix.
    ///
    /// # Panics
    /// When the matrix is quantised: its rows lie in [`Tile::Quantised`].
    pub fn plain_row(&self, r: usize) -> Row<'_> {
        let range = r * self.cols..(r + 1) * self.cols;
        match &self.kind {
            Kind::F32(v) => Row::F32(&v[range]),
            Kind::F16(v) => Row::F16(&v[range]),
            Kind::Bf16(v) => Row::Bf16(&v[range]),
            Kind::Tiles { .. } => unreachable!("a quantised matrix has no plain rows"),
        }
    }

    /// How the tiles are laid out, if the matrix is quantised.
    pub fn format(&self) -> Option<TileFormat> {
        match &self.kind {
            Kind::Tiles { format, .. } => Some(*format),
            _ => None,
        }
    }

    /// Whether products need quantised activations.
    pub fn is_quantised(&self) -> bool {
        matches!(self.kind, Kind::Tiles { .. })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match &self.kind {
            Kind::Tiles { bytes, .. } => bytes.as_slice().len(),
            Kind::F32(v) => 4 * v.len(),
            Kind::F16(v) | Kind::Bf16(v) => 2 * v.len(),
        }
    }

    /// Row `r` in single precision: an embedding look-up.
    pub fn row_f32(&self, r: usize, out: &mut [f32]) {
        match &self.kind {
            Kind::Tiles { .. } => {
                let Tile::Quantised(f, tile) = self.tile(r / TILE) else {
                    unreachable!()
                };
                let lane = r % TILE;
                let (header, codes) = tile.split_at(f.header_bytes(self.cols));
                let (mut s, mut z) = ([0.0; TILE], [0.0; TILE]);
                for (g, out) in out.chunks_exact_mut(f.group).enumerate() {
                    expand::<Scalar>(&f, header, g..g + 1, &mut s, &mut z);
                    for (c, o) in out.iter_mut().enumerate() {
                        let code = codes::get(codes, f.bits, lane, g * f.group + c);
                        *o = if f.stored_zero() {
                            s[lane] * f32::from(code) + z[lane]
                        } else {
                            s[lane] * (i32::from(code) + f.implied_zero) as f32
                        };
                    }
                }
            }
            _ => match self.plain_row(r) {
                Row::F32(v) => out.copy_from_slice(v),
                Row::F16(v) => out
                    .iter_mut()
                    .zip(v)
                    .for_each(|(o, h)| *o = half::f16::from_bits(*h).to_f32()),
                Row::Bf16(v) => out
                    .iter_mut()
                    .zip(v)
                    .for_each(|(o, h)| *o = f32::from_bits(u32::from(*h) << 16)),
            },
        }
    }
}

fn halves(b: &[u8]) -> Vec<u16> {
    b.chunks_exact(2)
        .map(|b| u16::from_le_bytes([b[0], b[1]]))
        .collect()
}

/// Bytes [`Matrix::pack`] will hold for `t`.
pub fn packed_bytes(t: &WeightTensor<'_>) -> usize {
    if let WeightData::Float(f, _) = t.data {
        t.rows * t.cols * f.size()
    } else {
        let f = RowCodes::new(t).format();
        t.rows.div_ceil(TILE) * f.tile_bytes(t.cols)
    }
}
