//! The two inner loops of the probe, on every path.
//!
//! `read` adds up 64-bit words: one load and one addition a vector, eight accumulators, and on x86 a
//! prefetch some lines ahead, because hardware prefetchers stop at the border of a 4 KiB page.
//! `multiply_add` runs independent chains of eight-bit dot products from registers.

use crate::Isa;

/// Words `read` takes at a time.
pub(super) const READ_BLOCK: usize = 64;
/// Words ahead of the reads that are prefetched.
const AHEAD: usize = 512;
/// Independent chains: enough to hide a latency of 5 cycles on two ports, few enough for 16 registers.
const CHAINS: usize = 12;

/// The wrapping sum of `words`, whose length is a multiple of [`READ_BLOCK`].
pub(super) fn read(isa: Isa, words: &[u64]) -> u64 {
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a path is only taken when the processor has it (`Isa::is_available`), as everywhere in
        // this crate.
        Isa::Avx512 => unsafe { read_avx512(words) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Isa::Avx2 => unsafe { read_avx2(words) },
        _ => sum(words),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn read_avx512(words: &[u64]) -> u64 {
    sum(words)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn read_avx2(words: &[u64]) -> u64 {
    sum(words)
}

/// Written so that the compiler keeps `acc` in registers of whatever width the caller has.
#[inline(always)]
fn sum(words: &[u64]) -> u64 {
    let mut acc = [0_u64; READ_BLOCK];
    for block in words.chunks_exact(READ_BLOCK) {
        prefetch(block);
        for (a, w) in acc.iter_mut().zip(block) {
            *a = a.wrapping_add(*w);
        }
    }
    acc.iter().fold(0, |a, w| a.wrapping_add(*w))
}

#[inline(always)]
fn prefetch(block: &[u64]) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..READ_BLOCK / 8 {
        let p = block.as_ptr().wrapping_add(AHEAD + 8 * line);
        // SAFETY: a prefetch reads nothing and may name any address.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(p.cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (block, AHEAD);
}

/// Runs `rounds` rounds of [`CHAINS`] dot products; returns operations done and a sum that depends on all.
pub(super) fn multiply_add(isa: Isa, rounds: usize) -> (u64, u64) {
    let (lanes, sum) = match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a path is only taken when the processor has it (`Isa::is_available`).
        Isa::Avx512 => (64, unsafe { dot_avx512(rounds) }),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Isa::Avx2 => (32, unsafe { dot_avx2(rounds) }),
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as on x86.
        Isa::NeonDot => (16, unsafe { dot_neon(rounds) }),
        _ => (8, dot_portable(rounds)),
    };
    ((rounds * CHAINS * lanes * 2) as u64, sum)
}

/// One `vpdpbusd` a chain and round: 64 products.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vnni")]
fn dot_avx512(rounds: usize) -> u64 {
    use std::arch::x86_64::*;
    use std::hint::black_box;
    let u = black_box(_mm512_set1_epi8(3));
    let s = black_box(_mm512_set1_epi8(1));
    let mut acc = [_mm512_set1_epi32(1); CHAINS];
    for _ in 0..rounds {
        for a in &mut acc {
            *a = _mm512_dpbusd_epi32(*a, u, s);
        }
    }
    let mut t = acc[0];
    for a in &acc[1..] {
        t = _mm512_add_epi32(t, *a);
    }
    u64::from(_mm512_reduce_add_epi32(t) as u32)
}

/// `vpmaddubsw`, `vpmaddwd` and `vpaddd` a chain and round: 32 products.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dot_avx2(rounds: usize) -> u64 {
    use std::arch::x86_64::*;
    use std::hint::black_box;
    let u = black_box(_mm256_set1_epi8(3));
    let ones = _mm256_set1_epi16(1);
    // The left factor changes every round, so that the product cannot be taken out of the loop.
    let mut s = black_box(_mm256_set1_epi8(1));
    let mut acc = [_mm256_set1_epi32(1); CHAINS];
    for _ in 0..rounds {
        for a in &mut acc {
            s = opaque(s);
            let pairs = _mm256_maddubs_epi16(u, s);
            *a = _mm256_add_epi32(*a, _mm256_madd_epi16(pairs, ones));
        }
    }
    let mut t = acc[0];
    for a in &acc[1..] {
        t = _mm256_add_epi32(t, *a);
    }
    let mut out = [0_i32; 8];
    // SAFETY: `out` holds the 32 bytes written.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), t) };
    out.iter()
        .fold(0_u64, |a, v| a.wrapping_add(*v as u32 as u64))
}

/// The same value, of which the compiler knows nothing; costs no instruction.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn opaque(mut v: std::arch::x86_64::__m256i) -> std::arch::x86_64::__m256i {
    // SAFETY: an empty instruction sequence.
    unsafe {
        std::arch::asm!("/* {0} */", inout(ymm_reg) v, options(pure, nomem, nostack, preserves_flags));
    }
    v
}

/// One `sdot` a chain and round: 16 products.
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon,dotprod")]
fn dot_neon(rounds: usize) -> u64 {
    use std::arch::aarch64::*;
    // SAFETY: registers only; the intrinsic for `sdot` is not stable, the instruction is.
    unsafe {
        let w = vdupq_n_s8(3);
        let q = vdupq_n_s8(1);
        let mut acc = [vdupq_n_s32(1); CHAINS];
        for _ in 0..rounds {
            for a in &mut acc {
                std::arch::asm!("sdot {s:v}.4s, {w:v}.16b, {q:v}.16b",
                    s = inout(vreg) *a, w = in(vreg) w, q = in(vreg) q,
                    options(pure, nomem, nostack, preserves_flags));
            }
        }
        acc.iter()
            .fold(0, |t, a| t + u64::from(vaddvq_s32(*a) as u32))
    }
}

/// What a compiler can make of plain code on any x86-64: `pmaddwd` and `paddd`, 8 products.
#[cfg(target_arch = "x86_64")]
fn dot_portable(rounds: usize) -> u64 {
    use std::arch::x86_64::*;
    use std::hint::black_box;
    // SAFETY: SSE2 is part of x86-64; registers only, but for the store into an array of that size.
    unsafe {
        let u = black_box(_mm_set1_epi16(3));
        let mut s = black_box(_mm_set1_epi16(1));
        let mut acc = [_mm_set1_epi32(1); CHAINS];
        for _ in 0..rounds {
            for a in &mut acc {
                std::arch::asm!("/* {0} */", inout(xmm_reg) s, options(pure, nomem, nostack, preserves_flags));
                *a = _mm_add_epi32(*a, _mm_madd_epi16(u, s));
            }
        }
        let t = acc
            .iter()
            .fold(_mm_setzero_si128(), |t, a| _mm_add_epi32(t, *a));
        let mut out = [0_u32; 4];
        _mm_storeu_si128(out.as_mut_ptr().cast(), t);
        out.iter().map(|v| u64::from(*v)).sum()
    }
}

/// Plain code, 8 products a chain and round, for the compiler to vectorise as it can.
#[cfg(not(target_arch = "x86_64"))]
fn dot_portable(rounds: usize) -> u64 {
    use std::hint::black_box;
    let (u, s) = ([3_i16; 8], [1_i16; 8]);
    let mut acc = [[1_i32; 8]; CHAINS];
    for _ in 0..rounds {
        let (u, s) = (black_box(&u), black_box(&s));
        for a in &mut acc {
            for ((a, u), s) in a.iter_mut().zip(u).zip(s) {
                *a = a.wrapping_add(i32::from(*u) * i32::from(*s));
            }
        }
    }
    acc.iter().flatten().map(|v| u64::from(*v as u32)).sum()
}
