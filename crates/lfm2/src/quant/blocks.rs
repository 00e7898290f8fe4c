//! The block layouts of GGUF, decoded one block at a time (source: the ggml project's format; the layouts
//! are restated here).

use super::KQuant;

/// Bytes of a super-block of 256 weights.
pub fn k_block_bytes(kind: KQuant) -> usize {
    match kind {
        // f16 d, f16 dmin, 12 bytes of 6-bit scales and minima, 128 bytes of nibbles
        KQuant::Q4K => 144,
        // the same with 32 bytes of fifth bits before the nibbles
        KQuant::Q5K => 176,
        // 128 bytes of low nibbles, 64 bytes of high pairs, 16 signed scales, f16 d
        KQuant::Q6K => 210,
    }
}

pub(super) fn f16(b: &[u8]) -> f32 {
    half::f16::from_le_bytes([b[0], b[1]]).to_f32()
}

/// Scale and minimum `j` (0 to 7) of the twelve bytes that hold eight of each at six bits: the first four
/// lie in the low six bits of bytes `j` and `j + 4`; the others are split between nibbles and top bits.
pub fn six_bit_pair(s: &[u8], j: usize) -> (u8, u8) {
    if j < 4 {
        (s[j] & 63, s[j + 4] & 63)
    } else {
        (
            (s[j + 4] & 15) | (s[j - 4] >> 6) << 4,
            (s[j + 4] >> 4) | (s[j] >> 6) << 4,
        )
    }
}

/// Decodes one super-block into 256 values.
pub(super) fn decode_k(kind: KQuant, b: &[u8], out: &mut [f32]) {
    match kind {
        KQuant::Q4K => decode_45(b, &[], &b[16..144], out),
        KQuant::Q5K => decode_45(b, &b[16..48], &b[48..176], out),
        KQuant::Q6K => decode_6(b, out),
    }
}

/// `d·sc_j·q − dmin·m_j` for eight sub-blocks of 32.
fn decode_45(b: &[u8], high: &[u8], low: &[u8], out: &mut [f32]) {
    let (d, dmin) = (f16(&b[0..2]), f16(&b[2..4]));
    for (j, out) in out.chunks_exact_mut(32).enumerate() {
        let (sc, m) = six_bit_pair(&b[4..16], j);
        let (scale, min) = (d * f32::from(sc), dmin * f32::from(m));
        let nibbles = &low[32 * (j / 2)..][..32];
        for (l, o) in out.iter_mut().enumerate() {
            let mut q = if j % 2 == 0 {
                nibbles[l] & 15
            } else {
                nibbles[l] >> 4
            };
            if let Some(h) = high.get(l) {
                q |= (h >> j & 1) << 4;
            }
            *o = scale * f32::from(q) - min;
        }
    }
}

/// `d·S·(q − 32)` for sixteen sub-blocks of 16.
fn decode_6(b: &[u8], out: &mut [f32]) {
    let d = f16(&b[208..210]);
    for (h, out) in out.chunks_exact_mut(128).enumerate() {
        let (low, high) = (&b[64 * h..][..64], &b[128 + 32 * h..][..32]);
        let scales = &b[192 + 8 * h..][..8];
        for l in 0..32 {
            let nibbles = [low[l] & 15, low[l + 32] & 15, low[l] >> 4, low[l + 32] >> 4];
            for (g, n) in nibbles.into_iter().enumerate() {
                let q = i16::from(n | (high[l] >> (2 * g) & 3) << 4) - 32;
                let scale = d * f32::from(scales[2 * g + l / 16] as i8);
                out[32 * g + l] = scale * f32::from(q);
            }
        }
    }
}
