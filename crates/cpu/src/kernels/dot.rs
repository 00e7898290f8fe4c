//! Sixteen rows of quantised weights times quantised activations.
//!
//! ```text
//! y[r] = Σ_step (s[r, g] · a[step]) · Σ_{c ∈ step} (w[r, c] + o) · q[c]   +   Σ_g z[r, g] · Σ_{c ∈ g} a · q[c]
//! ```
//! with unsigned weight codes `w`, their scale `s` and either an implied offset `o` or a stored zero `z` per
//! group; activations `a · q`, one scale per step of 32 columns. `q` has seven bits and a sign, or fifteen as
//! `128 · high + low`: then both products are summed as integers and joined before anything is rounded.
//! Single precision begins after a step, and its order (step after step, the zero at the end of a group) is
//! the same on every path, for every number of threads and tokens: `few` and `gemm` agree to the bit.
//!
//! Layout of a tile: see [`TileFormat`]. Bytes moved: the tile, once for all tokens given.
//!
//! Layout history: row-major groups with a horizontal sum per row were dropped: the sums cost as much as
//! the products on a vector 16 lanes wide. A header before each group was dropped: half of all lines then
//! straddled cache lines.

use super::simd::Vector;
use crate::Isa;
use crate::pack::{STEP, SUPER, Scales, TileFormat};
use lfm2::quant::FloatType;

/// Rows per tile.
pub const TILE: usize = 16;
/// Groups whose scales are widened at a time: 8 KB of scales and zeros, which stay in the first-level cache.
pub(crate) const PANEL: usize = 64;

/// One tile as a kernel takes it.
#[derive(Debug, Clone, Copy)]
pub struct Tile<'a> {
    /// How it is laid out.
    pub format: TileFormat,
    /// Its columns.
    pub cols: usize,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The tile that will be read after it, if known: its beginning is fetched early.
    pub next: Option<&'a [u8]>,
}

impl<'a> Tile<'a> {
    /// The scales, and the codes.
    #[inline(always)]
    pub(crate) fn parts(&self) -> (&'a [u8], &'a [u8]) {
        self.bytes.split_at(self.format.header_bytes(self.cols))
    }
}

/// One row of quantised activations (see [`super::quantise`]).
#[derive(Debug, Clone, Copy)]
pub struct Act<'a> {
    /// Upper codes, `[cols]`.
    pub high: &'a [i8],
    /// Lower codes, `[cols]`, or empty when activations have eight bits.
    pub low: &'a [i8],
    /// Scale per 32 codes.
    pub scale: &'a [f32],
    /// `Σ q` per 16 codes.
    pub sum16: &'a [i32],
    /// `Σ q` per 32 codes.
    pub sum32: &'a [i32],
    /// `Σ a·q` per 32, per 64 and per 128 codes (whole groups only).
    pub zsum: [&'a [f32]; 3],
}

impl<'a> Act<'a> {
    /// The zero sums for weight groups of `group` columns.
    pub(crate) fn zsum_of(&self, group: usize) -> &'a [f32] {
        self.zsum[match group {
            32 => 0,
            64 => 1,
            _ => 2,
        }]
    }
}

/// How the integer sum of one step is computed; the rest is shared.
pub(crate) trait Integer {
    /// The vector type for scales.
    type Float: Vector;
    /// Whether weight codes of 8 bits are taken as `code − 128`.
    const SIGNED: bool;
    /// `Σ w·q` for 16 rows over lines of 4-bit codes, eight columns each; `q` has `8 · lines` codes.
    fn sum4(codes: &[u8], q: &[i8]) -> [i32; TILE];
    /// The same over lines of 8-bit codes, four columns each.
    fn sum8(codes: &[u8], q: &[i8]) -> [i32; TILE];
}

fn as_halves(b: &[u8]) -> &[u16] {
    // SAFETY: any bytes are valid halves.
    let (before, halves, _) = unsafe { b.align_to::<u16>() };
    assert!(before.is_empty(), "headers lie on even addresses");
    halves
}

/// Sixteen numbers of a type to single precision, `LANES` at a time.
#[inline(always)]
fn widen<V: Vector>(float: FloatType, bytes: &[u8], i: usize) -> V {
    match float {
        FloatType::F32 => {
            let mut wide = [0.0; TILE];
            for (o, b) in wide.iter_mut().zip(bytes[4 * i..].chunks_exact(4)) {
                *o = f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            }
            V::load(&wide)
        }
        FloatType::F16 => V::load_f16(&as_halves(bytes)[i..]),
        FloatType::Bf16 => V::load_bf16(&as_halves(bytes)[i..]),
    }
}

#[inline(always)]
fn plain<V: Vector>(
    float: FloatType,
    stored: bool,
    header: &[u8],
    groups: std::ops::Range<usize>,
    s: &mut [f32],
    z: &mut [f32],
) {
    let size = TILE * float.size();
    let bytes = if stored { 2 * size } else { size };
    let header = &header[groups.start * bytes..groups.end * bytes];
    for (j, head) in header.chunks_exact(bytes).enumerate() {
        for i in (0..TILE).step_by(V::LANES) {
            widen::<V>(float, head, i).store(&mut s[j * TILE + i..]);
            if stored {
                widen::<V>(float, &head[size..], i).store(&mut z[j * TILE + i..]);
            }
        }
    }
}

/// Widens the scales (and stored zeros) of `groups` from a tile's header: `[groups, 16]` each.
#[inline(always)]
pub(crate) fn expand<V: Vector>(
    f: &TileFormat,
    header: &[u8],
    groups: std::ops::Range<usize>,
    s: &mut [f32],
    z: &mut [f32],
) {
    match f.scales {
        // Spelled out so that each loop is compiled for its type.
        Scales::Plain { float, stored_zero } => match (float, stored_zero) {
            (FloatType::F16, false) => plain::<V>(FloatType::F16, false, header, groups, s, z),
            (FloatType::F16, true) => plain::<V>(FloatType::F16, true, header, groups, s, z),
            (FloatType::Bf16, _) => {
                plain::<V>(FloatType::Bf16, stored_zero, header, groups, s, z);
            }
            (FloatType::F32, _) => plain::<V>(FloatType::F32, stored_zero, header, groups, s, z),
        },
        Scales::Super { min } => {
            let per_super = SUPER / f.group;
            for (i, g) in groups.enumerate() {
                let head = &header[g / per_super * f.super_bytes()..][..f.super_bytes()];
                let j = g % per_super;
                for r in (0..TILE).step_by(V::LANES) {
                    let d = widen::<V>(FloatType::F16, head, r);
                    let s = &mut s[i * TILE + r..];
                    if min {
                        let m = widen::<V>(FloatType::F16, &head[2 * TILE..], r);
                        let numbers = &head[(4 + 2 * j) * TILE..][..2 * TILE];
                        d.mul(V::load_u8(&numbers[r..])).store(s);
                        V::splat(0.0)
                            .sub(m.mul(V::load_u8(&numbers[TILE + r..])))
                            .store(&mut z[i * TILE + r..]);
                    } else {
                        d.mul(V::load_i8(&head[(2 + j) * TILE + r..])).store(s);
                    }
                }
            }
        }
    }
}

/// 32 (or, for half a step, 16) columns of six-bit codes as lines of eight-bit ones.
#[inline(always)]
fn unpack6(codes: &[u8], half: Option<usize>, out: &mut [u8; 512]) -> usize {
    let halves = match half {
        Some(h) => h..h + 1,
        None => 0..2,
    };
    let n = halves.len();
    for (i, h) in halves.enumerate() {
        let high = &codes[64 * (4 + h)..][..64];
        for four in 0..4 {
            let low = &codes[64 * (2 * h + four / 2)..][..64];
            let line = &mut out[64 * (4 * i + four)..][..64];
            for b in 0..64 {
                line[b] = (low[b] >> (4 * (four % 2)) & 15) | (high[b] >> (2 * four) & 3) << 4;
            }
        }
    }
    256 * n
}

/// A function, not a closure: closures are not inlined into kernels and then lack their instructions.
#[inline(always)]
fn codes_sum<I: Integer>(bits: u32, codes: &[u8], q: &[i8]) -> [i32; TILE] {
    if bits == 4 {
        I::sum4(codes, q)
    } else {
        I::sum8(codes, q)
    }
}

/// The integer sums of one step, or of half a step.
#[inline(always)]
fn step_sum<I: Integer>(
    f: &TileFormat,
    codes: &[u8],
    half: Option<usize>,
    x: &Act<'_>,
    at: usize,
) -> [i32; TILE] {
    let n = if half.is_some() { STEP / 2 } else { STEP };
    let mut wide = [0_u8; 512];
    let codes = match (f.bits, half) {
        (6, _) => {
            let len = unpack6(codes, half, &mut wide);
            &wide[..len]
        }
        (bits, Some(h)) => &codes[32 * bits as usize * h..][..32 * bits as usize],
        (_, None) => codes,
    };
    let signed = if I::SIGNED && f.bits != 4 { 128 } else { 0 };
    let offset = (f.implied_zero + signed)
        * if n == STEP {
            x.sum32[at / STEP]
        } else {
            x.sum16[at / (STEP / 2)]
        };
    let mut total = codes_sum::<I>(f.bits, codes, &x.high[at..at + n]);
    if x.low.is_empty() {
        total.iter_mut().for_each(|t| *t += offset);
    } else {
        let low = codes_sum::<I>(f.bits, codes, &x.low[at..at + n]);
        for (t, l) in total.iter_mut().zip(low) {
            *t = 128 * *t + l + offset;
        }
    }
    total
}

/// The shared loop over groups, for any path.
#[inline(always)]
pub(crate) fn tile_generic<I: Integer>(tile: Tile<'_>, x: &[Act<'_>], out: &mut [[f32; TILE]]) {
    let (f, cols) = (&tile.format, tile.cols);
    let (header, codes) = tile.parts();
    let groups = cols / f.group;
    let stored = f.stored_zero();
    for o in out.iter_mut() {
        *o = [0.0; TILE];
    }
    let (mut s, mut z) = ([0.0; TILE * PANEL], [0.0; TILE * PANEL]);
    for first in (0..groups).step_by(PANEL) {
        let end = (first + PANEL).min(groups);
        expand::<I::Float>(f, header, first..end, &mut s, &mut z);
        for (o, x) in out.iter_mut().zip(x) {
            let zsum = x.zsum_of(f.group);
            for g in first..end {
                let s = &s[(g - first) * TILE..][..TILE];
                for at in (g * f.group..(g + 1) * f.group).step_by(STEP.min(f.group)) {
                    let half = (f.group < STEP).then_some(at % STEP / (STEP / 2));
                    let codes = &codes[at / STEP * f.step_bytes()..][..f.step_bytes()];
                    let n = step_sum::<I>(f, codes, half, x, at);
                    let mut wide = [0.0; TILE];
                    for (w, n) in wide.iter_mut().zip(n) {
                        *w = n as f32;
                    }
                    scaled_add::<I::Float>(s, x.scale[at / STEP], &wide, o);
                }
                if stored {
                    let z = &z[(g - first) * TILE..][..TILE];
                    for i in (0..TILE).step_by(<I::Float as Vector>::LANES) {
                        I::Float::load(&z[i..])
                            .fma(I::Float::splat(zsum[g]), I::Float::load(&o[i..]))
                            .store(&mut o[i..]);
                    }
                }
            }
        }
    }
}

/// `o += (s · a) · n`.
#[inline(always)]
fn scaled_add<V: Vector>(s: &[f32], a: f32, n: &[f32; TILE], o: &mut [f32; TILE]) {
    for i in (0..TILE).step_by(V::LANES) {
        V::load(&n[i..])
            .fma(V::load(&s[i..]).mul(V::splat(a)), V::load(&o[i..]))
            .store(&mut o[i..]);
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

/// Checks what the unchecked kernels rely on.
fn check(tile: &Tile<'_>, x: &[Act<'_>]) {
    let (f, cols) = (&tile.format, tile.cols);
    assert!(cols.is_multiple_of(STEP) && cols.is_multiple_of(f.group));
    assert!(tile.bytes.len() >= f.tile_bytes(cols));
    let one_term = x.first().is_some_and(|x| x.low.is_empty());
    for x in x {
        assert!(x.low.is_empty() == one_term);
        assert!(x.high.len() >= cols && (x.low.is_empty() || x.low.len() >= cols));
        assert!(x.scale.len() >= cols / STEP && x.sum32.len() >= cols / STEP);
        assert!(x.sum16.len() >= 2 * (cols / STEP));
        assert!(!f.stored_zero() || x.zsum_of(f.group).len() >= cols / f.group);
    }
}

/// Computes `tile` for each row of `x`; `out[t]` receives the 16 results of token `t`.
///
/// # Panics
/// When the tile or a row of `x` is shorter than its columns ask for, or rows of `x` differ in their terms.
pub fn tile(isa: Isa, tile: Tile<'_>, x: &[Act<'_>], out: &mut [[f32; TILE]]) {
    check(&tile, x);
    assert_eq!(x.len(), out.len());
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the path was detected when it was chosen; lengths were checked above.
        Isa::Avx512 => unsafe { super::x86::few::tile(tile, x, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Isa::Avx2 => unsafe { super::x86::dot::tile_avx2(tile, x, out) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Isa::NeonDot => unsafe { super::neon::dot::tile_dotprod(tile, x, out) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Isa::Neon => unsafe { super::neon::dot::tile_plain(tile, x, out) },
        _ => tile_generic::<Portable>(tile, x, out),
    }
}
