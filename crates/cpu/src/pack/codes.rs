//! From the file's blocks to a tile's lanes, one row at a time.

use lfm2::quant::{KQuant, QuantLayout, QuantTensor, WeightData, WeightTensor, Zero};

use super::{Scales, TileFormat};
use crate::kernels::dot::TILE;

/// The code of `lane` at column `c` of a group.
pub(super) fn get(codes: &[u8], bits: u32, lane: usize, c: usize) -> u8 {
    if bits == 4 {
        let b = codes[c / 8 * 64 + 4 * lane + c % 4];
        if c % 8 < 4 { b & 15 } else { b >> 4 }
    } else {
        codes[c / 4 * 64 + 4 * lane + c % 4]
    }
}

/// Reads rows of a quantised tensor as unsigned codes with their scales.
pub(super) struct RowCodes<'a> {
    tensor: &'a WeightTensor<'a>,
    format: TileFormat,
}

impl<'a> RowCodes<'a> {
    pub(super) fn new(tensor: &'a WeightTensor<'a>) -> Self {
        let format = match tensor.data {
            WeightData::Quant(q) => quant_format(&q),
            WeightData::K(kind, _) => k_format(kind),
            WeightData::Float(..) => unreachable!("plain tensors are not tiled"),
        };
        Self { tensor, format }
    }

    pub(super) fn format(&self) -> TileFormat {
        self.format
    }

    /// Writes row `r` into lane `lane` of `tile`; `codes` is scratch of `cols` bytes.
    pub(super) fn write(&self, r: usize, lane: usize, codes: &mut [u8], tile: &mut [u8]) {
        let f = &self.format;
        match self.tensor.data {
            WeightData::Quant(q) => self.write_grouped(&q, r, lane, codes, tile),
            WeightData::K(kind, bytes) => self.write_k(kind, bytes, r, lane, codes, tile),
            WeightData::Float(..) => unreachable!("plain tensors are not tiled"),
        }
        for (group, codes) in tile
            .chunks_exact_mut(f.group_bytes())
            .zip(codes.chunks_exact(f.group))
        {
            let lines = &mut group[f.header_bytes()..];
            if f.bits == 4 {
                for (line, c) in lines.chunks_exact_mut(64).zip(codes.chunks_exact(8)) {
                    for j in 0..4 {
                        line[4 * lane + j] = c[j] | c[4 + j] << 4;
                    }
                }
            } else {
                for (line, c) in lines.chunks_exact_mut(64).zip(codes.chunks_exact(4)) {
                    line[4 * lane..][..4].copy_from_slice(c);
                }
            }
        }
    }

    fn write_grouped(
        &self,
        t: &QuantTensor<'_>,
        r: usize,
        lane: usize,
        codes: &mut [u8],
        tile: &mut [u8],
    ) {
        let cols = self.tensor.cols;
        let groups = cols / t.group;
        let size = t.scale_type.size();
        let mut put = |g: usize, place: usize, bytes: &[u8]| {
            let at = g * self.format.group_bytes() + (place * TILE + lane) * size;
            tile[at..at + size].copy_from_slice(bytes);
        };
        match t.layout {
            QuantLayout::Separate {
                codes: packed,
                scales,
            } => {
                let row_bytes = cols * t.bits as usize / 8;
                let packed = &packed[r * row_bytes..][..row_bytes];
                if t.bits == 4 {
                    for (c, b) in codes.chunks_exact_mut(2).zip(packed) {
                        (c[0], c[1]) = (b & 15, b >> 4);
                    }
                } else {
                    codes.copy_from_slice(packed);
                }
                for g in 0..groups {
                    let at = (r * groups + g) * size;
                    put(g, 0, &scales[at..at + size]);
                    if let Zero::Stored(zeros) = t.zero {
                        put(g, 1, &zeros[at..at + size]);
                    }
                }
            }
            QuantLayout::Blocks(blocks) => {
                let block = 2 + t.group * t.bits as usize / 8;
                let row = &blocks[r * groups * block..][..groups * block];
                for (g, (b, c)) in row
                    .chunks_exact(block)
                    .zip(codes.chunks_exact_mut(t.group))
                    .enumerate()
                {
                    put(g, 0, &b[..2]);
                    if t.bits == 4 {
                        let (lo, hi) = c.split_at_mut(16);
                        for ((lo, hi), b) in lo.iter_mut().zip(hi).zip(&b[2..]) {
                            (*lo, *hi) = (b & 15, b >> 4);
                        }
                    } else {
                        // Signed codes become unsigned by adding 128; the implied zero takes it back.
                        for (c, b) in c.iter_mut().zip(&b[2..]) {
                            *c = b ^ 0x80;
                        }
                    }
                }
            }
        }
    }

    fn write_k(
        &self,
        kind: KQuant,
        bytes: &[u8],
        r: usize,
        lane: usize,
        codes: &mut [u8],
        tile: &mut [u8],
    ) {
        const SUPER: usize = 256;
        let block = match kind {
            KQuant::Q4K => 144,
            KQuant::Q5K => 176,
            KQuant::Q6K => 210,
        };
        let blocks = self.tensor.cols / SUPER;
        let row = &bytes[r * blocks * block..][..blocks * block];
        let per_super = SUPER / self.format.group;
        for (i, (b, c)) in row
            .chunks_exact(block)
            .zip(codes.chunks_exact_mut(SUPER))
            .enumerate()
        {
            let mut group =
                |j: usize, parts: [(usize, &[u8]); 2], small: [(usize, u8); 2], min: bool| {
                    let head = &mut tile[(i * per_super + j) * self.format.group_bytes()..];
                    for (place, v) in parts.iter().take(if min { 2 } else { 1 }) {
                        head[place * 2 * TILE + 2 * lane..][..2].copy_from_slice(v);
                    }
                    for (place, v) in small.iter().take(if min { 2 } else { 1 }) {
                        head[place + lane] = *v;
                    }
                };
            if kind == KQuant::Q6K {
                six_bits(b, c);
                for j in 0..16 {
                    group(
                        j,
                        [(0, &b[208..210]), (0, &[])],
                        [(2 * TILE, b[192 + j]), (0, 0)],
                        false,
                    );
                }
            } else {
                let five = kind == KQuant::Q5K;
                let (high, low) = if five {
                    (&b[16..48], &b[48..])
                } else {
                    (&b[16..16], &b[16..])
                };
                for j in 0..8 {
                    let (sc, m) = six_bit_pair(&b[4..16], j);
                    group(
                        j,
                        [(0, &b[0..2]), (1, &b[2..4])],
                        [(4 * TILE, sc), (5 * TILE, m)],
                        true,
                    );
                    for l in 0..32 {
                        let n = low[32 * (j / 2) + l];
                        let mut q = if j % 2 == 0 { n & 15 } else { n >> 4 };
                        if five {
                            q |= (high[l] >> j & 1) << 4;
                        }
                        c[32 * j + l] = q;
                    }
                }
            }
        }
    }
}

fn quant_format(t: &QuantTensor<'_>) -> TileFormat {
    TileFormat {
        bits: t.bits,
        group: t.group,
        scales: Scales::Plain {
            float: t.scale_type,
            stored_zero: matches!(t.zero, Zero::Stored(_)),
        },
        implied_zero: match t.zero {
            Zero::Implied => -8.0,
            Zero::None => -128.0,
            Zero::Stored(_) => 0.0,
        },
    }
}

fn k_format(kind: KQuant) -> TileFormat {
    let (bits, group, min) = match kind {
        KQuant::Q4K => (4, 32, true),
        KQuant::Q5K => (8, 32, true),
        KQuant::Q6K => (8, 16, false),
    };
    TileFormat {
        bits,
        group,
        scales: Scales::Super { min },
        implied_zero: -32.0,
    }
}

/// Scale and minimum `j` of the twelve bytes that hold eight of each at six bits.
fn six_bit_pair(s: &[u8], j: usize) -> (u8, u8) {
    if j < 4 {
        (s[j] & 63, s[j + 4] & 63)
    } else {
        (
            (s[j + 4] & 15) | (s[j - 4] >> 6) << 4,
            (s[j + 4] >> 4) | (s[j] >> 6) << 4,
        )
    }
}

/// The 256 codes of a Q6_K block, 0 to 63.
fn six_bits(b: &[u8], out: &mut [u8]) {
    for h in 0..2 {
        let (low, high) = (&b[64 * h..][..64], &b[128 + 32 * h..][..32]);
        let out = &mut out[128 * h..][..128];
        for l in 0..32 {
            let nibbles = [low[l] & 15, low[l + 32] & 15, low[l] >> 4, low[l + 32] >> 4];
            for (g, n) in nibbles.into_iter().enumerate() {
                out[32 * g + l] = n | (high[l] >> (2 * g) & 3) << 4;
            }
        }
    }
}
