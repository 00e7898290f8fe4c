//! How evenly the tokens were spread over the experts.

use serde::Serialize;

/// Loads of experts relative to an even spread, over all layers.
#[derive(Debug, Serialize)]
pub(super) struct Routing {
    least: f64,
    median: f64,
    most: f64,
    /// Mean over layers of the load's entropy, in bits.
    entropy: f64,
    /// What an even spread would have.
    entropy_even: f64,
}

impl Routing {
    /// From the tokens that chose each expert, layer by layer; nothing for a model without experts.
    pub(super) fn new(load: &[Vec<u32>]) -> Option<Self> {
        let mut relative = Vec::new();
        let mut entropy = 0.0;
        for layer in load {
            let all: u32 = layer.iter().sum();
            let shares = layer.iter().map(|n| f64::from(*n) / f64::from(all));
            entropy -= shares
                .clone()
                .filter(|s| *s > 0.0)
                .map(|s| s * s.log2())
                .sum::<f64>();
            relative.extend(shares.map(|s| s * layer.len() as f64));
        }
        relative.sort_by(f64::total_cmp);
        Some(Self {
            least: *relative.first()?,
            median: relative[relative.len() / 2],
            most: *relative.last()?,
            entropy: entropy / load.len() as f64,
            entropy_even: (load[0].len() as f64).log2(),
        })
    }
}

impl std::fmt::Display for Routing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "experts' loads, 1 is an even share: least {:.2}, median {:.2}, most {:.2};\n\
             entropy {:.2} of {:.2} bits",
            self.least, self.median, self.most, self.entropy, self.entropy_even
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Routing;

    #[test]
    fn loads_are_relative_to_an_even_share() {
        let r = Routing::new(&[vec![4, 0, 2, 2], vec![2, 2, 2, 2]]).unwrap();
        assert_eq!((r.least, r.median, r.most), (0.0, 1.0, 2.0));
        assert_eq!((r.entropy, r.entropy_even), (1.75, 2.0));
        assert!(Routing::new(&[]).is_none());
    }
}
