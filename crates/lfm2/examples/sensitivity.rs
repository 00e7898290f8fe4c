//! How far a model's logits move, in exact arithmetic, when one norm vector is off by a small relative amount:
//! what rounding anywhere can do at the least.
//!
//! ```sh
//! cargo run --release -p lfm2 --example sensitivity -- MODEL [TOKENS] [NOISE…]
//! ```

use lfm2::quant::{FloatType, WeightData, WeightTensor};
use lfm2::tensor::{LayerTensor, TensorId};
use lfm2::weights::{Format, TensorEntry, WeightSource};
use lfm2::{Config, Result, oracle};

/// A model whose first norm vector is replaced.
struct Noisy<'a> {
    model: &'a dyn WeightSource,
    norm: Vec<u8>,
}

const FIRST: TensorId = TensorId::Layer(0, LayerTensor::OperatorNorm);

impl WeightSource for Noisy<'_> {
    fn format(&self) -> Format {
        self.model.format()
    }
    fn config(&self) -> &Config {
        self.model.config()
    }
    fn tensor(&self, id: TensorId) -> Result<WeightTensor<'_>> {
        let t = self.model.tensor(id)?;
        Ok(if id == FIRST {
            WeightTensor {
                data: WeightData::Float(FloatType::F32, &self.norm),
                ..t
            }
        } else {
            t
        })
    }
    fn locate(&self, id: TensorId) -> Option<lfm2::weights::Location> {
        self.model.locate(id)
    }
    fn entries(&self) -> Vec<TensorEntry> {
        self.model.entries()
    }
}

/// Numbers that look random.
fn hash(n: u64) -> u64 {
    let n = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n ^ (n >> 27)
}

fn best(row: &[f32]) -> usize {
    (0..row.len()).fold(0, |b, i| if row[i] > row[b] { i } else { b })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let path = args.first().ok_or("give a model")?;
    let n: usize = args.get(1).map_or(Ok(48), |a| a.parse())?;
    let opened = lfm2::open(path.as_ref())?;
    let model = opened.weights();
    let c = model.config();
    let tokens: Vec<u32> = (0..n as u64)
        .map(|i| (hash(i) % c.vocab_size as u64) as u32)
        .collect();
    let positions: Vec<usize> = (0..n).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let run =
        |m: &dyn WeightSource| oracle::logits(m, &tokens, &positions, threads, &mut |_, _| {});
    let exact = run(model)?;
    for noise in args.iter().skip(2) {
        let size: f32 = noise.parse()?;
        let norm = model.tensor(FIRST)?.to_f32();
        let norm = norm.iter().enumerate().flat_map(|(i, w)| {
            let sign = if hash(i as u64) >> 63 == 0 { 1.0 } else { -1.0 };
            (w * (1.0 + sign * size)).to_le_bytes()
        });
        let noisy = Noisy {
            model,
            norm: norm.collect(),
        };
        let moved = run(&noisy)?;
        println!("noise {noise}: positions, largest change, same best token");
        for at in (0..n).step_by(8) {
            let part = at..(at + 8).min(n);
            let (mut worst, mut same) = (0.0_f32, 0);
            for i in part.clone() {
                let v = exact[i].len() as f32;
                let mean = exact[i].iter().sum::<f32>() / v;
                let sd = (exact[i].iter().map(|x| (x - mean).powi(2)).sum::<f32>() / v).sqrt();
                let pairs = exact[i].iter().zip(&moved[i]);
                worst = pairs.fold(worst, |w, (a, b)| w.max((a - b).abs() / sd));
                same += usize::from(best(&exact[i]) == best(&moved[i]));
            }
            println!(
                "{:>5}..{:<5} {worst:.4} sd  {same} of {}",
                part.start,
                part.end,
                part.len()
            );
        }
    }
    Ok(())
}
