//! Tiles times many tokens: the kernel of prefill.
//!
//! The formula, its order and its bits are those of [`super::dot`]. What differs is the traffic: the codes
//! of one or two tiles are unpacked to bytes, 512 columns at a time, into the first-level cache and stay
//! there while all tokens pass in groups of up to six; a group's activations lie together
//! ([`Panels`]), so that one pointer reaches them all. Two tiles share each broadcast.
//!
//! Only AVX-512 has such a kernel; the other paths call [`super::dot::tile`] for all tokens.

use super::dot::{Act, TILE};
use crate::Isa;
use crate::pack::{STEP, TileFormat};

/// Tokens in a group, largest first; the sizes kernels exist for. With two terms six would not leave
/// registers for the sums.
pub(crate) const TOKENS: [usize; 4] = [6, 4, 2, 1];
/// Fewest tokens for which unpacking once pays.
pub const MANY: usize = 5;

/// Whether this path has a kernel for many tokens.
pub fn exists(isa: Isa) -> bool {
    isa == Isa::Avx512
}

/// Groups of tokens as the kernel walks them.
///
/// A group of `T` tokens holds, per step of 32 columns: for each term (upper, then lower) eight fours of
/// codes of each token, `[terms, 8, T]` words; then `[T]` scales, `[T]` sums of 32 and `[2, T]` sums of 16.
/// After all steps come the zero sums, `[groups, T]`, for weights of `group` columns.
#[derive(Debug, Default)]
pub struct Panels {
    words: Vec<u32>,
    groups: Vec<Group>,
    pub(crate) cols: usize,
    pub(crate) two: bool,
    tokens: usize,
}

/// One group of tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    pub(crate) first: usize,
    pub(crate) tokens: usize,
    at: usize,
}

/// Words of a step of a group of `t` tokens.
pub(crate) const fn step_words(t: usize, two: bool) -> usize {
    t * (if two { 16 } else { 8 } + 4)
}

impl Panels {
    /// Lays `x`, `tokens` rows of `cols` columns, out for weights with groups of `group` columns.
    pub fn fill<'a>(
        &mut self,
        x: impl Fn(usize) -> Act<'a>,
        tokens: usize,
        cols: usize,
        group: usize,
    ) {
        self.groups.clear();
        (self.cols, self.tokens) = (cols, tokens);
        self.two = tokens > 0 && !x(0).low.is_empty();
        let sizes = if self.two { &TOKENS[1..] } else { &TOKENS[..] };
        let steps = cols / STEP;
        let zeros = if group < STEP { 0 } else { cols / group };
        let (mut first, mut at) = (0, 0);
        while first < tokens {
            let t = *sizes
                .iter()
                .find(|t| **t <= tokens - first)
                .expect("one token is always a group");
            self.groups.push(Group {
                first,
                tokens: t,
                at,
            });
            first += t;
            at += steps * step_words(t, self.two) + zeros * t;
        }
        self.words.resize(at, 0);
        for g in &self.groups {
            let t = g.tokens;
            let stride = step_words(t, self.two);
            for j in 0..t {
                let x = x(g.first + j);
                let words = &mut self.words[g.at..];
                for step in 0..steps {
                    let out = &mut words[step * stride..][..stride];
                    let mut put = |place: usize, codes: &[i8]| {
                        for (i, c) in codes[step * STEP..][..STEP].chunks_exact(4).enumerate() {
                            out[(place + i) * t + j] = u32::from_le_bytes([
                                c[0] as u8, c[1] as u8, c[2] as u8, c[3] as u8,
                            ]);
                        }
                    };
                    put(0, x.high);
                    let mut place = 8;
                    if self.two {
                        put(8, x.low);
                        place = 16;
                    }
                    let numbers = &mut out[place * t..];
                    numbers[j] = x.scale[step].to_bits();
                    numbers[t + j] = x.sum32[step] as u32;
                    numbers[2 * t + j] = x.sum16[2 * step] as u32;
                    numbers[3 * t + j] = x.sum16[2 * step + 1] as u32;
                }
                if zeros > 0 {
                    let zsum = x.zsum_of(group);
                    let out = &mut words[steps * stride..][..zeros * t];
                    for (o, z) in out.chunks_exact_mut(t).zip(zsum) {
                        o[j] = z.to_bits();
                    }
                }
            }
        }
    }

    /// Tokens held.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn groups(&self) -> impl Iterator<Item = (Group, &[u32])> {
        self.groups.iter().map(|g| (*g, &self.words[g.at..]))
    }
}

/// Buffers of one thread.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) codes: Vec<u8>,
    pub(crate) scales: Vec<f32>,
    pub(crate) zeros: Vec<f32>,
    /// `[tokens, tiles, 16]`.
    pub(crate) out: Vec<f32>,
}

impl Scratch {
    /// The 16 results of `token` and tile `i` of `tiles` after [`tiles`].
    pub fn results(&self, token: usize, i: usize, tiles: usize) -> &[f32] {
        &self.out[(token * tiles + i) * TILE..][..TILE]
    }
}

/// Computes one or two tiles for all tokens of `x`; results are left in `scratch`.
///
/// # Panics
/// When a tile is shorter than the columns of `x` ask for, or the path has no such kernel.
pub fn tiles(isa: Isa, f: &TileFormat, tiles: &[&[u8]], x: &Panels, scratch: &mut Scratch) {
    assert!(exists(isa), "this path has no kernel for many tokens");
    assert!(tiles.iter().all(|t| t.len() >= f.tile_bytes(x.cols)));
    assert!(x.cols.is_multiple_of(f.group) && x.cols.is_multiple_of(STEP));
    #[cfg(target_arch = "x86_64")]
    match *tiles {
        // SAFETY: the path was detected when it was chosen; lengths were checked above.
        [a] => unsafe { super::x86::gemm::tiles(f, [a], x, scratch) },
        // SAFETY: as above.
        [a, b] => unsafe { super::x86::gemm::tiles(f, [a, b], x, scratch) },
        _ => unreachable!("one or two tiles"),
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = scratch;
}
