//! Medians, spreads, intervals, drift: the little statistics a speed needs.

pub(crate) use cpu::probe::median;

/// Largest minus smallest, as a share of the median.
pub(crate) fn spread(values: &[f64]) -> f64 {
    let m = median(values);
    if values.is_empty() || m == 0.0 {
        return 0.0;
    }
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
            (a.min(*v), b.max(*v))
        });
    (high - low) / m
}

/// A mean ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    /// Geometric mean.
    pub(crate) mean: f64,
    /// Ends of the 95 % confidence interval.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Pairs it rests on.
    pub(crate) pairs: usize,
}

/// Two-sided 97.5 % quantile of Student's t with `freedom` degrees of freedom; beyond 30 the value for 30,
/// which is a little wide.
fn student(freedom: usize) -> f64 {
    const T: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    T[freedom.clamp(1, T.len()) - 1]
}

/// The ratio `a / b` of paired measurements: Student's interval on the logarithms of the pairs' ratios.
/// `None` below two pairs or when a value is not positive.
pub(crate) fn paired_ratio(a: &[f64], b: &[f64]) -> Option<Ratio> {
    let n = a.len().min(b.len());
    if n < 2 || a.iter().chain(b).any(|v| !v.is_finite() || *v <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect();
    let mean = logs.iter().sum::<f64>() / n as f64;
    let variance = logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    let half = student(n - 1) * (variance / n as f64).sqrt();
    Some(Ratio {
        mean: mean.exp(),
        low: (mean - half).exp(),
        high: (mean + half).exp(),
        pairs: n,
    })
}

/// How a speed changed over time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Drift {
    /// Median of the first fifth.
    pub(crate) first: f64,
    /// Median of the last fifth.
    pub(crate) last: f64,
    /// Lowest median of any ten neighbouring samples, as a share of the first fifth's.
    pub(crate) worst: f64,
    /// The highest, likewise.
    pub(crate) best: f64,
}

/// A sustained change or dip of this share is worth a flag.
pub(crate) const DRIFT: f64 = 0.05;

impl Drift {
    /// Change from first to last, as a share: −0.1 is a tenth slower.
    pub(crate) fn change(&self) -> f64 {
        if self.first > 0.0 {
            self.last / self.first - 1.0
        } else {
            0.0
        }
    }

    /// What to tell, if anything.
    pub(crate) fn flag(&self) -> Option<String> {
        let change = self.change();
        if change < -DRIFT {
            Some(format!(
                "throttling: the last fifth ran {:.1} % slower than the first",
                -100.0 * change
            ))
        } else if self.worst < 1.0 - 2.0 * DRIFT {
            Some(format!(
                "a dip: for a while the speed was {:.1} % below the start",
                100.0 * (1.0 - self.worst)
            ))
        } else if self.best > 1.0 + 2.0 * DRIFT {
            Some(format!(
                "uneven: for a while the speed was {:.1} % above the start",
                100.0 * (self.best - 1.0)
            ))
        } else if change > DRIFT {
            Some(format!(
                "drift: the last fifth ran {:.1} % faster than the first",
                100.0 * change
            ))
        } else {
            None
        }
    }
}

/// Looks for drift in speeds taken one after the other; `None` below ten samples.
pub(crate) fn drift(speeds: &[f64]) -> Option<Drift> {
    if speeds.len() < 10 {
        return None;
    }
    let fifth = speeds.len() / 5;
    let first = median(&speeds[..fifth]);
    let last = median(&speeds[speeds.len() - fifth..]);
    let of_first = |v: f64| if first > 0.0 { v / first } else { 1.0 };
    let around = || speeds.windows(10).map(median);
    Some(Drift {
        first,
        last,
        worst: of_first(around().fold(f64::INFINITY, f64::min)),
        best: of_first(around().fold(0.0, f64::max)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spreads() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[2.0, 9.0, 1.0]), 2.0);
        assert_eq!(median(&[4.0, 2.0]), 3.0);
        assert_eq!(spread(&[9.0, 10.0, 12.0]), 0.3);
        assert_eq!(spread(&[]), 0.0);
        assert_eq!(spread(&[7.0]), 0.0);
    }

    #[test]
    fn an_interval_of_equal_ratios_is_a_point() {
        let r = paired_ratio(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0]).unwrap();
        assert!((r.mean - 2.0).abs() < 1e-12 && (r.high - r.low).abs() < 1e-12);
        assert_eq!(r.pairs, 3);
    }

    #[test]
    fn an_interval_by_hand() {
        // Logs ln 1.1 and ln 0.9: mean −0.0050252, sd 0.141897, half width 12.706·sd/√2 = 1.27488.
        let r = paired_ratio(&[1.1, 0.9], &[1.0, 1.0]).unwrap();
        assert!((r.mean - 0.99_f64.sqrt()).abs() < 1e-12);
        assert!((r.high / r.mean).ln() - 1.27488 < 1e-3);
        assert!((r.mean / r.low - r.high / r.mean).abs() < 1e-9);
    }

    #[test]
    fn no_interval_from_one_pair_or_from_zeros() {
        assert_eq!(paired_ratio(&[1.0], &[1.0]), None);
        assert_eq!(paired_ratio(&[1.0, 0.0], &[1.0, 1.0]), None);
        assert_eq!(paired_ratio(&[1.0, f64::NAN], &[1.0, 1.0]), None);
    }

    #[test]
    fn drift_is_seen_and_noise_is_not() {
        let steady: Vec<f64> = (0..50).map(|i| 100.0 + f64::from(i % 3)).collect();
        assert_eq!(drift(&steady).unwrap().flag(), None);
        let falling: Vec<f64> = (0..50).map(|i| 100.0 - f64::from(i)).collect();
        assert!(
            drift(&falling)
                .unwrap()
                .flag()
                .unwrap()
                .contains("throttling")
        );
        let rising: Vec<f64> = (0..50).map(|i| 100.0 + 0.2 * f64::from(i)).collect();
        assert!(drift(&rising).unwrap().flag().unwrap().contains("drift"));
        let mut dip = vec![100.0; 50];
        dip[20..32].fill(70.0);
        assert!(drift(&dip).unwrap().flag().unwrap().contains("dip"));
        let mut burst = vec![100.0; 50];
        burst[20..32].fill(180.0);
        assert!(drift(&burst).unwrap().flag().unwrap().contains("uneven"));
        let mut one = vec![100.0; 50];
        one[20] = 10.0;
        assert_eq!(drift(&one).unwrap().flag(), None);
        assert_eq!(drift(&[1.0; 9]), None);
    }
}
