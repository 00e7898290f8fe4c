//! Random numbers by counter. Only integer arithmetic and exactly rounded floating-point operations, so
//! that every platform makes the same model.

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of 64-bit words, any of which can be had alone (SplitMix64 on a counter).
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream(u64);

impl Stream {
    /// The stream called `name` under `seed`.
    pub(super) fn new(seed: u64, name: u64) -> Self {
        Self(mix(mix(seed.wrapping_add(STEP)) ^ name.wrapping_mul(STEP)))
    }

    /// Word `i`.
    #[inline]
    pub(super) fn word(self, i: u64) -> u64 {
        mix(self.0.wrapping_add(i.wrapping_add(1).wrapping_mul(STEP)))
    }

    /// Number `i`, uniform in [0, 1).
    pub(super) fn uniform(self, i: u64) -> f64 {
        (self.word(i) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Number `i`, nearly normal: the sum of twelve uniform ones, less its mean. Within ±6.
    pub(super) fn normal(self, i: u64) -> f64 {
        let sum: u64 = (0..3)
            .map(|k| {
                let w = self.word(3 * i + k);
                (0..4).map(|j| w >> (16 * j) & 0xffff).sum::<u64>()
            })
            .sum();
        (sum as f64 + 6.0) / 65536.0 - 6.0
    }
}

#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// `e^x` by squaring a series; unlike the system's, the same everywhere.
pub(super) fn exp(x: f64) -> f64 {
    let x = x / 64.0;
    let mut y = 1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0))));
    for _ in 0..6 {
        y *= y;
    }
    y
}
