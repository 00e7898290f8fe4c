//! Weights in this backend's own layout.

mod bytes;
mod codes;

use lfm2::quant::{FloatType, WeightData, WeightTensor};

use crate::kernels::dot::{TILE, read_header};
use crate::kernels::float::Row;
use crate::team::{Disjoint, Team};
use bytes::Aligned;
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TileFormat {
    /// Bits per code: 4 or 8.
    pub bits: u32,
    /// Columns that share a scale: 16 to 128.
    pub group: usize,
    /// Where scales come from.
    pub scales: Scales,
    /// `zero / scale` where zeros are not stored.
    pub implied_zero: f32,
}

impl TileFormat {
    /// Bytes before a group's codes.
    pub fn header_bytes(&self) -> usize {
        match self.scales {
            Scales::Plain { float, stored_zero } => {
                TILE * float.size() * if stored_zero { 2 } else { 1 }
            }
            Scales::Super { min } => TILE * if min { 6 } else { 3 },
        }
    }

    /// Bytes of a group of 16 rows.
    pub fn group_bytes(&self) -> usize {
        self.header_bytes() + TILE * self.group * self.bits as usize / 8
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
    Tiles { format: TileFormat, bytes: Aligned },
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
        let tile_bytes = format.group_bytes() * (t.cols / format.group);
        let n = t.rows.div_ceil(TILE);
        let mut bytes = Aligned::zeroed(n * tile_bytes);
        {
            let out = Disjoint::new(bytes.as_mut_slice());
            team.for_ranges(n, |range| {
                let mut codes = vec![0_u8; t.cols];
                for i in range {
                    // SAFETY: tiles do not overlap and each is written by one thread.
                    let tile = unsafe { out.slice(i * tile_bytes..(i + 1) * tile_bytes) };
                    for r in 0..TILE.min(t.rows - i * TILE) {
                        source.write(i * TILE + r, r, &mut codes, tile);
                    }
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
                let size = format.group_bytes() * (self.cols / format.group);
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
                for (group, out) in tile
                    .chunks_exact(f.group_bytes())
                    .zip(out.chunks_exact_mut(f.group))
                {
                    let (s, z) = read_header(&f, group);
                    let codes = &group[f.header_bytes()..];
                    for (c, o) in out.iter_mut().enumerate() {
                        *o = s[lane] * f32::from(codes::get(codes, f.bits, lane, c)) + z[lane];
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
        t.rows.div_ceil(TILE) * f.group_bytes() * (t.cols / f.group)
    }
}
