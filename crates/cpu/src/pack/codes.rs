//! From the file's blocks to a tile's lanes, sixteen rows at a time.
//!
//! Loading a model is this loop, so the common formats move whole 32-bit words: a word holds eight (or four)
//! neighbouring codes of one row in the file and becomes one lane of a line, its nibbles put in order by a
//! few shifts for all sixteen rows at once.

use lfm2::quant::{KQuant, QuantLayout, QuantTensor, WeightData, WeightTensor, Zero};

use super::{STEP, SUPER, Scales, TileFormat};
use crate::kernels::dot::TILE;

/// The code of `lane` at column `c` of a tile.
pub(super) fn get(codes: &[u8], bits: u32, lane: usize, c: usize) -> u8 {
    let (step, c) = (c / STEP, c % STEP);
    let codes = &codes[step * 64 * bits as usize..];
    let (four, at) = (c / 4, 4 * lane + c % 4);
    if bits == 8 {
        return codes[64 * four + at];
    }
    let b = codes[64 * (four / 2) + at];
    let low = if four % 2 == 0 { b & 15 } else { b >> 4 };
    if bits == 4 {
        low
    } else {
        let high = codes[64 * (4 + four / 4) + at] >> (2 * (four % 4)) & 3;
        low | high << 4
    }
}

/// Reads rows of a quantised tensor as unsigned codes with their scales.
pub(super) struct RowCodes<'a> {
    tensor: &'a WeightTensor<'a>,
    format: TileFormat,
}

/// One word of each of sixteen rows.
type Words = [u32; TILE];

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

    /// Writes the up to sixteen rows from `first` on into a zeroed `tile`.
    pub(super) fn write(&self, first: usize, tile: &mut [u8]) {
        let rows = first..(first + TILE).min(self.tensor.rows);
        let (header, codes) = tile.split_at_mut(self.format.header_bytes(self.tensor.cols));
        match self.tensor.data {
            WeightData::Quant(q) => match q.layout {
                QuantLayout::Separate {
                    codes: packed,
                    scales,
                } => self.separate(&q, packed, scales, rows, header, codes),
                QuantLayout::Blocks(blocks) => self.blocks(&q, blocks, rows, header, codes),
            },
            WeightData::K(kind, bytes) => self.super_blocks(kind, bytes, rows, header, codes),
            WeightData::Float(..) => unreachable!("plain tensors are not tiled"),
        }
    }

    fn put(&self, header: &mut [u8], lane: usize, g: usize, place: usize, number: &[u8]) {
        let numbers = if self.format.stored_zero() { 2 } else { 1 };
        let at = ((g * numbers + place) * TILE + lane) * number.len();
        header[at..at + number.len()].copy_from_slice(number);
    }

    /// MLX: codes, scales and zeros in three tensors.
    fn separate(
        &self,
        t: &QuantTensor<'_>,
        packed: &[u8],
        scales: &[u8],
        rows: std::ops::Range<usize>,
        header: &mut [u8],
        codes: &mut [u8],
    ) {
        let cols = self.tensor.cols;
        let (groups, size) = (cols / t.group, t.scale_type.size());
        for (lane, r) in rows.clone().enumerate() {
            for g in 0..groups {
                let at = (r * groups + g) * size;
                self.put(header, lane, g, 0, &scales[at..at + size]);
                if let Zero::Stored(zeros) = t.zero {
                    self.put(header, lane, g, 1, &zeros[at..at + size]);
                }
            }
        }
        let row_bytes = cols * t.bits as usize / 8;
        let source = &packed[rows.start * row_bytes..rows.end * row_bytes];
        for (i, line) in codes.chunks_exact_mut(64).enumerate() {
            let w = words(source, row_bytes, 4 * i);
            store(line, &if t.bits == 4 { w.map(pairs) } else { w });
        }
    }

    /// `Q4_0` and `Q8_0`: a scale, then 32 codes.
    fn blocks(
        &self,
        t: &QuantTensor<'_>,
        blocks: &[u8],
        rows: std::ops::Range<usize>,
        header: &mut [u8],
        codes: &mut [u8],
    ) {
        let block = 2 + t.group * t.bits as usize / 8;
        let row_bytes = self.tensor.cols / t.group * block;
        let source = &blocks[rows.start * row_bytes..rows.end * row_bytes];
        for (lane, row) in source.chunks_exact(row_bytes).enumerate() {
            for (g, b) in row.chunks_exact(block).enumerate() {
                self.put(header, lane, g, 0, &b[..2]);
            }
        }
        for (g, codes) in codes.chunks_exact_mut(self.format.step_bytes()).enumerate() {
            let word = |i: usize| words(source, row_bytes, g * block + 2 + 4 * i);
            if t.bits == 4 {
                halves(&[word(0), word(1), word(2), word(3)], codes);
            } else {
                // Signed codes become unsigned by adding 128; the implied zero takes it back.
                for (i, line) in codes.chunks_exact_mut(64).enumerate() {
                    store(line, &word(i).map(|w| w ^ 0x8080_8080));
                }
            }
        }
    }

    fn super_blocks(
        &self,
        kind: KQuant,
        bytes: &[u8],
        rows: std::ops::Range<usize>,
        header: &mut [u8],
        codes: &mut [u8],
    ) {
        let block = match kind {
            KQuant::Q4K => 144,
            KQuant::Q5K => 176,
            KQuant::Q6K => 210,
        };
        let row_bytes = self.tensor.cols / SUPER * block;
        let source = &bytes[rows.start * row_bytes..rows.end * row_bytes];
        for (lane, row) in source.chunks_exact(row_bytes).enumerate() {
            for (b, head) in row
                .chunks_exact(block)
                .zip(header.chunks_exact_mut(self.format.super_bytes()))
            {
                if kind == KQuant::Q6K {
                    head[2 * lane..][..2].copy_from_slice(&b[208..210]);
                    for j in 0..16 {
                        head[2 * TILE + j * TILE + lane] = b[192 + j];
                    }
                } else {
                    head[2 * lane..][..2].copy_from_slice(&b[..2]);
                    head[2 * (TILE + lane)..][..2].copy_from_slice(&b[2..4]);
                    for j in 0..8 {
                        let (scale, min) = six_bit_pair(&b[4..16], j);
                        head[4 * TILE + 2 * j * TILE + lane] = scale;
                        head[4 * TILE + (2 * j + 1) * TILE + lane] = min;
                    }
                }
            }
        }
        for (i, codes) in codes
            .chunks_exact_mut(SUPER / STEP * self.format.step_bytes())
            .enumerate()
        {
            if kind == KQuant::Q4K {
                for (pair, codes) in codes.chunks_exact_mut(2 * 256).enumerate() {
                    let word = |l: usize| words(source, row_bytes, i * block + 16 + 32 * pair + l);
                    let (mut low, mut high) = ([0_u8; 256], [0_u8; 256]);
                    for half in 0..2 {
                        // Sixteen bytes carry the same columns of two neighbouring groups.
                        let w = [0, 4, 8, 12].map(|l| word(16 * half + l));
                        let mut both = [0_u8; 256];
                        halves(&w, &mut both);
                        low[128 * half..][..128].copy_from_slice(&both[..128]);
                        high[128 * half..][..128].copy_from_slice(&both[128..]);
                    }
                    codes[..256].copy_from_slice(&low);
                    codes[256..].copy_from_slice(&high);
                }
                continue;
            }
            codes.fill(0);
            let mut c = [0_u8; SUPER];
            for (lane, row) in source.chunks_exact(row_bytes).enumerate() {
                let b = &row[i * block..][..block];
                if kind == KQuant::Q6K {
                    six_bits(b, &mut c);
                } else {
                    five_bits(b, &mut c);
                }
                for (c, codes) in c
                    .chunks_exact(STEP)
                    .zip(codes.chunks_exact_mut(self.format.step_bytes()))
                {
                    for (four, c) in c.chunks_exact(4).enumerate() {
                        for (j, c) in c.iter().enumerate() {
                            let at = 4 * lane + j;
                            codes[64 * (four / 2) + at] |= (c & 15) << (4 * (four % 2));
                            codes[64 * (4 + four / 4) + at] |= (c >> 4) << (2 * (four % 4));
                        }
                    }
                }
            }
        }
    }
}

/// The word at byte `at` of each row.
#[inline(always)]
fn words(rows: &[u8], row_bytes: usize, at: usize) -> Words {
    let mut w = [0; TILE];
    for (w, row) in w.iter_mut().zip(rows.chunks_exact(row_bytes)) {
        *w = u32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]]);
    }
    w
}

#[inline(always)]
fn store(line: &mut [u8], w: &Words) {
    for (b, w) in line.chunks_exact_mut(4).zip(w) {
        b.copy_from_slice(&w.to_le_bytes());
    }
}

/// Nibbles 0 to 7 in a row, lowest first, to nibbles 0 to 3 in the low halves of four bytes and 4 to 7 in
/// the high halves.
#[inline(always)]
fn pairs(w: u32) -> u32 {
    (w & 0xF)
        | (w & 0xF0) << 4
        | (w & 0xF00) << 8
        | (w & 0xF000) << 12
        | (w >> 12 & 0xF0)
        | (w >> 8 & 0xF000)
        | (w >> 4 & 0xF0_0000)
        | (w & 0xF000_0000)
}

/// Sixteen bytes whose low nibbles are sixteen columns and whose high nibbles are sixteen others: two lines
/// of the first, then two of the second.
#[inline(always)]
fn halves(w: &[Words; 4], lines: &mut [u8]) {
    const LOW: u32 = 0x0F0F_0F0F;
    let mut out = [[0_u32; TILE]; 4];
    for r in 0..TILE {
        out[0][r] = w[0][r] & LOW | (w[1][r] & LOW) << 4;
        out[1][r] = w[2][r] & LOW | (w[3][r] & LOW) << 4;
        out[2][r] = w[0][r] >> 4 & LOW | w[1][r] & !LOW;
        out[3][r] = w[2][r] >> 4 & LOW | w[3][r] & !LOW;
    }
    for (line, w) in lines.chunks_exact_mut(64).zip(&out) {
        store(line, w);
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
            Zero::Implied => -8,
            Zero::None => -128,
            Zero::Stored(_) => 0,
        },
    }
}

fn k_format(kind: KQuant) -> TileFormat {
    let (bits, group, min, implied_zero) = match kind {
        KQuant::Q4K => (4, 32, true, 0),
        KQuant::Q5K => (6, 32, true, 0),
        KQuant::Q6K => (6, 16, false, -32),
    };
    TileFormat {
        bits,
        group,
        scales: Scales::Super { min },
        implied_zero,
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

/// The 256 codes of a Q5_K block, 0 to 31.
fn five_bits(b: &[u8], out: &mut [u8; SUPER]) {
    let (high, low) = (&b[16..48], &b[48..]);
    for (j, out) in out.chunks_exact_mut(32).enumerate() {
        for (l, o) in out.iter_mut().enumerate() {
            let n = low[32 * (j / 2) + l];
            *o = (if j % 2 == 0 { n & 15 } else { n >> 4 }) | (high[l] >> j & 1) << 4;
        }
    }
}

/// The 256 codes of a Q6_K block, 0 to 63.
fn six_bits(b: &[u8], out: &mut [u8; SUPER]) {
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
