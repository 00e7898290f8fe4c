//! Where a writer gets its weights from.

use std::ops::Range;

use super::storage::{Encoded, Storage};
use crate::error::Result;
use crate::tensor::TensorId;
use crate::weights::WeightSource;

/// Weights by role, in single precision or already encoded.
pub trait Values: Sync {
    /// Rows `rows` of tensor `id`, of `out.len() / rows.len()` columns each.
    fn rows(&self, id: TensorId, rows: Range<usize>, out: &mut [f32]) -> Result<()>;

    /// Appends rows `rows` of `cols` columns as `storage`. Implementations that hold codes override this
    /// to skip the way through floats; `scratch` is the caller's to keep.
    fn encode(
        &self,
        id: TensorId,
        storage: Storage,
        rows: Range<usize>,
        cols: usize,
        scratch: &mut Vec<f32>,
        out: &mut Encoded,
    ) -> Result<()> {
        scratch.resize(rows.len() * cols, 0.0);
        self.rows(id, rows, scratch)?;
        storage.encode(scratch, out);
        Ok(())
    }
}

/// The weights of an opened model: converts between formats.
#[derive(Clone, Copy)]
pub struct Stored<'a>(pub &'a dyn WeightSource);

impl std::fmt::Debug for Stored<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stored({})", self.0.format().name())
    }
}

impl Values for Stored<'_> {
    fn rows(&self, id: TensorId, rows: Range<usize>, out: &mut [f32]) -> Result<()> {
        let t = self.0.tensor(id)?;
        for (row, out) in rows.zip(out.chunks_exact_mut(t.cols)) {
            t.row_f32(row, out);
        }
        Ok(())
    }
}
