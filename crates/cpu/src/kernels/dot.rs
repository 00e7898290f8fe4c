//! Sixteen rows of quantised weights times quantised activations.
//!
//! ```text
//! y[r] = Σ_g  s[r, g] · Σ_{c ∈ g} a[c/32] · w[r, c] · q[c]   +   z[r, g] · Σ_{c ∈ g} a[c/32] · q[c]
//! ```
//! with unsigned weight codes `w`, their scale `s` and zero `z` per group, activation codes `q` and their
//! scale `a` per 32. Products are summed as integers within 32 columns, in single precision across them,
//! group after group: the order is the same for every path, thread count and number of tokens.
//!
//! A tile holds 16 rows, group after group: a header with scales, then codes in lines of 64 bytes, four
//! neighbouring columns of 16 rows each (4 bits: two such fours, in the low and the high nibbles). Bytes
//! moved: the tile, once for all tokens given.
//!
//! Layout history: row-major groups with a horizontal sum per row were dropped: the sums cost as much as
//! the products on a vector 16 lanes wide.

use super::simd::Vector;
use crate::Isa;
use crate::pack::{Scales, TileFormat};

/// Rows per tile.
pub const TILE: usize = 16;

/// One row of quantised activations (see [`super::rows::quantise`]).
#[derive(Debug, Clone, Copy)]
pub struct Quantised<'a> {
    /// Codes.
    pub q: &'a [i8],
    /// Scale per 32 codes.
    pub scale: &'a [f32],
    /// `scale · Σ codes` per 16 codes.
    pub sums: &'a [f32],
}

/// How the integer sum of one step is computed; the rest is shared.
pub(crate) trait Integer {
    /// The vector type for scales.
    type Float: Vector;
    /// Whether weight codes of 8 bits are taken as `code − 128`.
    const SIGNED: bool;
    /// `Σ w·q` for 16 rows over `lines` lines of 4-bit codes, eight columns each; `q` has `8 · lines` codes.
    fn sum4(codes: &[u8], q: &[i8]) -> [i32; TILE];
    /// The same over lines of 8-bit codes, four columns each.
    fn sum8(codes: &[u8], q: &[i8]) -> [i32; TILE];
}

/// Reads a group's header: 16 scales and 16 zeros.
#[inline(always)]
fn header<V: Vector>(f: &TileFormat, bytes: &[u8], s: &mut [f32; TILE], z: &mut [f32; TILE]) {
    match f.scales {
        Scales::Plain { float, stored_zero } => {
            let size = TILE * float.size();
            widen::<V>(float, &bytes[..size], s);
            if stored_zero {
                widen::<V>(float, &bytes[size..2 * size], z);
            } else {
                for (z, s) in z.iter_mut().zip(&*s) {
                    *z = f.implied_zero * s;
                }
            }
        }
        Scales::Super { min } => {
            // d (and dmin) of the super-block are repeated in each group's header as f16: 2 (or 4) bytes a
            // row and group buy a header that can be read without looking back.
            let mut d = [0.0; TILE];
            widen::<V>(lfm2::quant::FloatType::F16, &bytes[..2 * TILE], &mut d);
            if min {
                let mut m = [0.0; TILE];
                widen::<V>(
                    lfm2::quant::FloatType::F16,
                    &bytes[2 * TILE..4 * TILE],
                    &mut m,
                );
                let (sc, mc) = bytes[4 * TILE..6 * TILE].split_at(TILE);
                for i in 0..TILE {
                    s[i] = d[i] * f32::from(sc[i]);
                    z[i] = -m[i] * f32::from(mc[i]);
                }
            } else {
                for (i, sc) in bytes[2 * TILE..3 * TILE].iter().enumerate() {
                    s[i] = d[i] * f32::from(*sc as i8);
                    z[i] = f.implied_zero * s[i];
                }
            }
        }
    }
}

#[inline(always)]
fn widen<V: Vector>(float: lfm2::quant::FloatType, bytes: &[u8], out: &mut [f32; TILE]) {
    use lfm2::quant::FloatType;
    let mut halves = [0_u16; TILE];
    if float == FloatType::F32 {
        for (o, b) in out.iter_mut().zip(bytes.chunks_exact(4)) {
            *o = f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        }
        return;
    }
    for (h, b) in halves.iter_mut().zip(bytes.chunks_exact(2)) {
        *h = u16::from_le_bytes([b[0], b[1]]);
    }
    for i in (0..TILE).step_by(V::LANES) {
        let v = if float == FloatType::F16 {
            V::load_f16(&halves[i..])
        } else {
            V::load_bf16(&halves[i..])
        };
        v.store(&mut out[i..]);
    }
}

/// The shared loop over groups, for any path.
#[inline(always)]
pub(crate) fn tile_generic<I: Integer>(
    f: &TileFormat,
    tile: &[u8],
    x: &[Quantised<'_>],
    out: &mut [[f32; TILE]],
) {
    let head = f.header_bytes();
    let step = f.group.min(super::rows::ACTIVATION_GROUP);
    let step_bytes = step * TILE * f.bits as usize / 8;
    let sums_per_step = step / super::rows::SUM_GROUP;
    for o in out.iter_mut() {
        *o = [0.0; TILE];
    }
    let (mut s, mut z) = ([0.0; TILE], [0.0; TILE]);
    for (g, group) in tile.chunks_exact(f.group_bytes()).enumerate() {
        header::<I::Float>(f, group, &mut s, &mut z);
        if I::SIGNED && f.bits == 8 {
            for i in 0..TILE {
                z[i] += 128.0 * s[i];
            }
        }
        for (o, x) in out.iter_mut().zip(x) {
            let mut total = [0.0_f32; TILE];
            let mut zsum = 0.0;
            for (i, codes) in group[head..].chunks_exact(step_bytes).enumerate() {
                let at = g * f.group + i * step;
                let q = &x.q[at..at + step];
                let n = if f.bits == 4 {
                    I::sum4(codes, q)
                } else {
                    I::sum8(codes, q)
                };
                let a = x.scale[at / super::rows::ACTIVATION_GROUP];
                for i in 0..TILE {
                    total[i] += a * n[i] as f32;
                }
                for k in 0..sums_per_step {
                    zsum += x.sums[at / super::rows::SUM_GROUP + k];
                }
            }
            for i in 0..TILE {
                o[i] += s[i] * total[i] + z[i] * zsum;
            }
        }
    }
}

/// Portable integers.
struct Portable;

impl Integer for Portable {
    type Float = super::simd::Scalar;
    const SIGNED: bool = false;

    #[inline(always)]
    fn sum4(codes: &[u8], q: &[i8]) -> [i32; TILE] {
        let mut n = [0; TILE];
        for (line, q) in codes.chunks_exact(64).zip(q.chunks_exact(8)) {
            for (r, n) in n.iter_mut().enumerate() {
                for j in 0..4 {
                    let b = line[4 * r + j];
                    *n += i32::from(b & 15) * i32::from(q[j])
                        + i32::from(b >> 4) * i32::from(q[4 + j]);
                }
            }
        }
        n
    }

    #[inline(always)]
    fn sum8(codes: &[u8], q: &[i8]) -> [i32; TILE] {
        let mut n = [0; TILE];
        for (line, q) in codes.chunks_exact(64).zip(q.chunks_exact(4)) {
            for (r, n) in n.iter_mut().enumerate() {
                for j in 0..4 {
                    *n += i32::from(line[4 * r + j]) * i32::from(q[j]);
                }
            }
        }
        n
    }
}

/// Computes one tile for each row of `x`; `out[t]` receives the 16 results of token `t`.
pub fn tile(isa: Isa, f: &TileFormat, tile: &[u8], x: &[Quantised<'_>], out: &mut [[f32; TILE]]) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the path was detected when it was chosen.
        Isa::Avx512 => unsafe { super::x86::dot::tile_avx512(f, tile, x, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Isa::Avx2 => unsafe { super::x86::dot::tile_avx2(f, tile, x, out) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Isa::NeonDot => unsafe { super::neon::dot::tile_dotprod(f, tile, x, out) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Isa::Neon => unsafe { super::neon::dot::tile_plain(f, tile, x, out) },
        _ => tile_generic::<Portable>(f, tile, x, out),
    }
}

/// Scales and zeros of the 16 rows of a group, for reading single rows back.
pub(crate) fn read_header(f: &TileFormat, group: &[u8]) -> ([f32; TILE], [f32; TILE]) {
    let (mut s, mut z) = ([0.0; TILE], [0.0; TILE]);
    header::<super::simd::Scalar>(f, group, &mut s, &mut z);
    (s, z)
}

/// `header` on the caller's path, for kernels that keep scales in registers.
#[inline(always)]
pub(crate) fn header_for<V: Vector>(f: &TileFormat, group: &[u8]) -> ([f32; TILE], [f32; TILE]) {
    let (mut s, mut z) = ([0.0; TILE], [0.0; TILE]);
    header::<V>(f, group, &mut s, &mut z);
    (s, z)
}
