//! The second oracle: the forward pass of models too large to hold in single precision.
//!
//! It goes through the file layer by layer and dequantises one row at a time, so it needs the activations
//! of the whole text (`tokens · hidden` floats, a few times over) and nothing of the weights. Teacher-forced
//! only: the text is given. Written apart from [`crate::reference`] and tested against it.

mod linear;

use std::cell::RefCell;

use crate::config::{Config, FfnKind, LayerKind};
use crate::error::{Error, Result};
use crate::reference::{Numerics, route};
use crate::tensor::{FfnPart, LayerTensor, TensorId};
use crate::weights::WeightSource;
use linear::{Linear, Rows};

/// What a pass saw.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// The logits after the tokens at the positions asked for, one row of `vocab` each.
    pub logits: Vec<Vec<f32>>,
    /// For each layer with experts, how many tokens chose each of them.
    pub load: Vec<Vec<u32>>,
}

/// [`trace`]'s logits.
///
/// # Errors
/// As [`trace`].
pub fn logits(
    source: &dyn WeightSource,
    tokens: &[u32],
    positions: &[usize],
    threads: usize,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Vec<f32>>> {
    Ok(trace(source, tokens, positions, threads, progress)?.logits)
}

/// Computes the logits after the tokens at `positions`, and where the tokens were routed on the way.
///
/// `progress` hears layers done and layers in all.
///
/// # Errors
/// When a token or position is out of range or a tensor cannot be read.
pub fn trace(
    source: &dyn WeightSource,
    tokens: &[u32],
    positions: &[usize],
    threads: usize,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Trace> {
    let c = source.config();
    if let Some(bad) = tokens.iter().find(|t| **t as usize >= c.vocab_size) {
        return Err(Error::Input(format!(
            "token {bad} is outside the vocabulary of {}",
            c.vocab_size
        )));
    }
    if let Some(bad) = positions.iter().find(|p| **p >= tokens.len()) {
        return Err(Error::Input(format!(
            "position {bad} lies behind the {} tokens given",
            tokens.len()
        )));
    }
    let pass = Pass {
        source,
        c,
        linear: Linear {
            threads: threads.max(1),
        },
        load: RefCell::default(),
    };
    let mut x = Rows::new(tokens.len(), c.hidden_size);
    let embedding = source.tensor(TensorId::Embedding)?;
    for (t, row) in tokens.iter().zip(x.rows_mut()) {
        embedding.row_f32(*t as usize, row);
    }
    for i in 0..c.layers.len() {
        progress(i, c.layers.len());
        pass.layer(i, &mut x)?;
    }
    progress(c.layers.len(), c.layers.len());
    let mut last = Rows::new(positions.len(), c.hidden_size);
    for (p, row) in positions.iter().zip(last.rows_mut()) {
        row.copy_from_slice(x.row(*p));
    }
    let last = pass.norm(TensorId::FinalNorm, &last)?;
    let out = pass.linear.apply(&embedding, &last);
    Ok(Trace {
        logits: (0..positions.len()).map(|i| out.row(i).to_vec()).collect(),
        load: pass.load.into_inner(),
    })
}

/// Multiply-adds of [`logits`] for `n` tokens: what its duration is estimated from.
pub fn work(c: &Config, n: usize) -> f64 {
    let attention = c.count_layers(LayerKind::Attention) * c.heads * c.head_dim;
    (c.active_parameters() as f64) * n as f64 + attention as f64 * (n * n) as f64
}

struct Pass<'a> {
    source: &'a dyn WeightSource,
    c: &'a Config,
    linear: Linear,
    load: RefCell<Vec<Vec<u32>>>,
}

impl Pass<'_> {
    fn vector(&self, id: TensorId) -> Result<Vec<f32>> {
        Ok(self.source.tensor(id)?.to_f32())
    }

    fn project(&self, i: usize, t: LayerTensor, x: &Rows) -> Result<Rows> {
        Ok(self
            .linear
            .apply(&self.source.tensor(TensorId::Layer(i, t))?, x))
    }

    /// RMS norm of each row.
    fn norm(&self, id: TensorId, x: &Rows) -> Result<Rows> {
        let w = self.vector(id)?;
        let mut y = x.clone();
        y.rows_mut().for_each(|row| rms(row, &w, self.c.norm_eps));
        Ok(y)
    }

    fn layer(&self, i: usize, x: &mut Rows) -> Result<()> {
        let h = self.norm(TensorId::Layer(i, LayerTensor::OperatorNorm), x)?;
        let y = match self.c.layers[i] {
            LayerKind::Conv => self.conv(i, &h)?,
            LayerKind::Attention => self.attention(i, &h)?,
        };
        x.add(&y);
        let h = self.norm(TensorId::Layer(i, LayerTensor::FfnNorm), x)?;
        let y = match self.c.ffn_kind(i) {
            FfnKind::Dense => self.swiglu(i, &LayerTensor::Dense, &h)?,
            FfnKind::Moe => self.moe(i, &h)?,
        };
        x.add(&y);
        Ok(())
    }

    fn conv(&self, i: usize, h: &Rows) -> Result<Rows> {
        let width = self.c.hidden_size;
        let taps = self.c.conv_kernel;
        let kernel = self.vector(TensorId::Layer(i, LayerTensor::ConvKernel))?;
        let bcx = self.project(i, LayerTensor::ConvIn, h)?;
        let mut y = Rows::new(h.len(), width);
        for t in 0..h.len() {
            let out = y.row_mut(t);
            for j in 0..taps {
                // Tap j looks taps − 1 − j tokens back; before the text there is nothing.
                let Some(s) = (t + j + 1).checked_sub(taps) else {
                    continue;
                };
                let src = bcx.row(s);
                for ch in 0..width {
                    out[ch] += kernel[ch * taps + j] * src[ch] * src[2 * width + ch];
                }
            }
            for (o, c) in out.iter_mut().zip(&bcx.row(t)[width..2 * width]) {
                *o *= c;
            }
        }
        self.project(i, LayerTensor::ConvOut, &y)
    }

    fn attention(&self, i: usize, h: &Rows) -> Result<Rows> {
        let c = self.c;
        let d = c.head_dim;
        let mut q = self.project(i, LayerTensor::Query, h)?;
        let mut k = self.project(i, LayerTensor::Key, h)?;
        let v = self.project(i, LayerTensor::Value, h)?;
        for (m, norm) in [
            (&mut q, LayerTensor::QueryNorm),
            (&mut k, LayerTensor::KeyNorm),
        ] {
            let w = self.vector(TensorId::Layer(i, norm))?;
            for t in 0..m.len() {
                for head in m.row_mut(t).chunks_exact_mut(d) {
                    rms(head, &w, c.norm_eps);
                    rotate(head, t, c.rope_theta);
                }
            }
        }
        let group = c.heads / c.kv_heads;
        let y = self.linear.map_rows(h.len(), c.heads * d, |t, out| {
            let mut scores = vec![0.0_f32; t + 1];
            for (head, out) in out.chunks_exact_mut(d).enumerate() {
                let at = head / group * d;
                let q = &q.row(t)[head * d..][..d];
                for (s, score) in scores.iter_mut().enumerate() {
                    *score = linear::dot(q, &k.row(s)[at..at + d]) / (d as f32).sqrt();
                }
                let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                scores.iter_mut().for_each(|s| *s = (*s - max).exp());
                let sum: f32 = scores.iter().sum();
                for (s, w) in scores.iter().enumerate() {
                    for (o, v) in out.iter_mut().zip(&v.row(s)[at..at + d]) {
                        *o += w / sum * v;
                    }
                }
            }
        });
        self.project(i, LayerTensor::AttnOut, &y)
    }

    fn swiglu(&self, i: usize, part: &dyn Fn(FfnPart) -> LayerTensor, h: &Rows) -> Result<Rows> {
        let mut g = self.project(i, part(FfnPart::Gate), h)?;
        let u = self.project(i, part(FfnPart::Up), h)?;
        for (g, u) in g.rows_mut().flatten().zip(u.flat()) {
            *g = *g / (1.0 + (-*g).exp()) * u;
        }
        self.project(i, part(FfnPart::Down), &g)
    }

    /// Experts one after the other, each for the tokens that chose it: every expert is read at most once.
    fn moe(&self, i: usize, h: &Rows) -> Result<Rows> {
        let m = self.c.moe();
        let logits = self.project(i, LayerTensor::Router, h)?;
        let bias = if m.use_expert_bias {
            Some(self.vector(TensorId::Layer(i, LayerTensor::ExpertBias))?)
        } else {
            None
        };
        let mut tokens: Vec<Vec<(usize, f32)>> = vec![Vec::new(); m.experts];
        for t in 0..h.len() {
            for (e, w) in route(Numerics::F32, m, logits.row(t), bias.as_deref()) {
                tokens[e].push((t, w));
            }
        }
        let load = tokens.iter().map(|l| l.len() as u32).collect();
        self.load.borrow_mut().push(load);
        let mut y = Rows::new(h.len(), self.c.hidden_size);
        for (e, list) in tokens.iter().enumerate().filter(|(_, l)| !l.is_empty()) {
            let mut own = Rows::new(list.len(), self.c.hidden_size);
            for ((t, _), row) in list.iter().zip(own.rows_mut()) {
                row.copy_from_slice(h.row(*t));
            }
            let z = self.swiglu(i, &|p| LayerTensor::Expert(p, e), &own)?;
            for (n, (t, w)) in list.iter().enumerate() {
                for (y, z) in y.row_mut(*t).iter_mut().zip(z.row(n)) {
                    *y += w * z;
                }
            }
        }
        Ok(y)
    }
}

fn rms(row: &mut [f32], w: &[f32], eps: f32) {
    let mean = linear::dot(row, row) / row.len() as f32;
    let inv = (mean + eps).sqrt().recip();
    row.iter_mut().zip(w).for_each(|(x, w)| *x *= inv * w);
}

fn rotate(head: &mut [f32], position: usize, theta: f64) {
    let half = head.len() / 2;
    let (a, b) = head.split_at_mut(half);
    for (i, (a, b)) in a.iter_mut().zip(b).enumerate() {
        let angle = position as f64 / theta.powf(i as f64 / half as f64);
        let (sin, cos) = (angle.sin() as f32, angle.cos() as f32);
        (*a, *b) = (*a * cos - *b * sin, *b * cos + *a * sin);
    }
}
