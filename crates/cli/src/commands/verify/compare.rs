//! How far two sets of logits agree.

use engine::sampler::{argmax, log_sum_exp};

/// A position is clear when the reference's two best logits are this many standard deviations apart.
pub(crate) const CLEAR: f32 = 0.1;
/// Share of positions that must be clear for the comparison to count.
pub(crate) const COVERAGE: f64 = 0.8;
/// Largest error of any logit, in standard deviations of its position's logits.
pub(crate) const BOUND: f32 = 0.25;

/// Sums over positions.
#[derive(Debug, Default)]
pub(crate) struct Agreement {
    n: usize,
    clear: usize,
    same: usize,
    same_clear: usize,
    mse: f64,
    kl: f64,
    max: f32,
}

/// Standard deviation of a row.
pub(crate) fn deviation(row: &[f32]) -> f32 {
    let n = row.len() as f64;
    let mean = row.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
    (row.iter()
        .map(|v| (f64::from(*v) - mean).powi(2))
        .sum::<f64>()
        / n)
        .sqrt() as f32
}

/// Distance of the two largest values.
pub(crate) fn gap(row: &[f32]) -> f32 {
    let (mut a, mut b) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
    for v in row {
        if *v > a {
            (a, b) = (*v, a);
        } else if *v > b {
            b = *v;
        }
    }
    a - b
}

impl Agreement {
    /// Adds a position.
    pub(crate) fn add(&mut self, got: &[f32], want: &[f32]) {
        let sd = deviation(want);
        let same = argmax(got) == argmax(want);
        let clear = gap(want) > CLEAR * sd;
        self.n += 1;
        self.same += usize::from(same);
        self.clear += usize::from(clear);
        self.same_clear += usize::from(same && clear);
        let (zg, zw) = (log_sum_exp(got), log_sum_exp(want));
        for (g, w) in got.iter().zip(want) {
            self.mse += f64::from(g - w).powi(2) / got.len() as f64;
            let lw = f64::from(w - zw);
            self.kl += lw.exp() * (lw - f64::from(g - zg));
            // A NaN must not pass as a small error.
            let e = (g - w).abs() / sd;
            self.max = if e.is_nan() {
                f32::INFINITY
            } else {
                self.max.max(e)
            };
        }
    }

    /// Mean squared error of the logits.
    pub(crate) fn mse(&self) -> f64 {
        self.mse / self.n.max(1) as f64
    }

    /// Mean Kullback–Leibler divergence of the device's distribution from the reference's, in nats.
    pub(crate) fn kl(&self) -> f64 {
        self.kl / self.n.max(1) as f64
    }

    /// Share of positions with the same best token.
    pub(crate) fn top1(&self) -> f64 {
        self.same as f64 / self.n.max(1) as f64
    }

    /// The same among clear positions.
    pub(crate) fn top1_clear(&self) -> f64 {
        self.same_clear as f64 / self.clear.max(1) as f64
    }

    /// Share of clear positions.
    pub(crate) fn coverage(&self) -> f64 {
        self.clear as f64 / self.n.max(1) as f64
    }

    /// Largest error in standard deviations.
    pub(crate) fn max_error(&self) -> f32 {
        self.max
    }

    /// The contract: equal where clear, enough of it clear, errors within the bound.
    pub(crate) fn pass(&self) -> bool {
        self.same_clear == self.clear && self.coverage() >= COVERAGE && self.max <= BOUND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_counts_what_it_says() {
        let mut a = Agreement::default();
        a.add(&[0.0, 1.0, 5.0], &[0.0, 1.0, 5.0]);
        assert!(a.pass() && a.mse() == 0.0 && a.kl().abs() < 1e-9);
        a.add(&[0.0, 5.0, 1.0], &[0.0, 1.0, 5.0]);
        assert!(!a.pass());
        assert_eq!((a.top1(), a.top1_clear(), a.coverage()), (0.5, 0.5, 1.0));
        let mut a = Agreement::default();
        a.add(&[f32::NAN, 1.0, 5.0], &[0.0, 1.0, 5.0]);
        assert!(!a.pass());
    }
}
