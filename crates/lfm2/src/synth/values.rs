//! The weights, by row.

use std::ops::Range;

use super::pack;
use super::recipe::{self, MatrixScale, Recipe};
use super::rng::Stream;
use crate::config::Config;
use crate::error::Result;
use crate::quant::FloatType;
use crate::tensor::TensorId;
use crate::write::{Encoded, Storage, Values};

/// The weights of a synthetic model.
#[derive(Debug, Clone)]
pub struct Synthetic {
    config: Config,
    recipe: Recipe,
}

impl Synthetic {
    /// A model of configuration `config`.
    pub fn new(config: &Config, recipe: Recipe) -> Self {
        Self {
            config: config.clone(),
            recipe,
        }
    }

    fn encode_rows(
        &self,
        id: TensorId,
        storage: Storage,
        rows: Range<usize>,
        cols: usize,
        out: &mut Encoded,
    ) {
        if !id.is_matrix() {
            let values: Vec<f32> = (rows.start * cols..rows.end * cols)
                .map(|i| recipe::element(&self.recipe, id, i))
                .collect();
            storage.encode(&values, out);
            return;
        }
        let scales = MatrixScale::new(&self.config, &self.recipe, id);
        let codes = Stream::new(self.recipe.seed, recipe::name(id) + recipe::CODES);
        let per_row = cols.div_ceil(16);
        let mut words = vec![0; per_row];
        for r in rows {
            let first = (r * per_row) as u64;
            for (i, w) in words.iter_mut().enumerate() {
                *w = never_zero(codes.word(first + i as u64));
            }
            pack::row(&words, cols, &scales.row(r), storage, out);
        }
    }
}

/// Sixteen random nibbles without 0, which becomes 8: weights are symmetrical around zero.
#[inline]
fn never_zero(w: u64) -> u64 {
    let mut any = w | w >> 1;
    any |= any >> 2;
    w | (!any & 0x1111_1111_1111_1111) << 3
}

impl Values for Synthetic {
    fn rows(&self, id: TensorId, rows: Range<usize>, out: &mut [f32]) -> Result<()> {
        let mut bytes = Encoded::default();
        let float = Storage::Float(FloatType::F32);
        let cols = id.shape(&self.config)[1];
        self.encode_rows(id, float, rows, cols, &mut bytes);
        for (o, b) in out.iter_mut().zip(bytes.main.chunks_exact(4)) {
            *o = f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        }
        Ok(())
    }

    fn encode(
        &self,
        id: TensorId,
        storage: Storage,
        rows: Range<usize>,
        cols: usize,
        _: &mut Vec<f32>,
        out: &mut Encoded,
    ) -> Result<()> {
        self.encode_rows(id, storage, rows, cols, out);
        Ok(())
    }
}
