//! Weights as the files store them, behind one trait.

use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::quant::WeightTensor;
use crate::tensor::TensorId;

/// How a container stores a tensor, for `molten inspect`.
#[derive(Debug, Clone)]
pub struct TensorEntry {
    /// Name in the file.
    pub name: String,
    /// Shape in row-major order, slowest dimension first (GGUF's order reversed).
    pub shape: Vec<u64>,
    /// Storage type as the format names it, e.g. `BF16`, `Q4_K`, `U32`.
    pub dtype: String,
    /// Stored bytes.
    pub bytes: u64,
    /// File that holds it.
    pub file: PathBuf,
    /// Offset of its first byte in that file.
    pub offset: u64,
}

/// Where a tensor's bytes lie.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub file: PathBuf,
    /// The stored tensor that holds them (an expert may be a slice of it).
    pub name: String,
    /// First byte in the file of what the check of [`WeightSource::checked`] counts from.
    pub offset: u64,
}

impl Location {
    /// The place of `t` in the file whose contents are `bytes`, if it lies there; `name` finds the stored
    /// tensor that holds a byte.
    pub(crate) fn of<'n>(
        t: &WeightTensor<'_>,
        bytes: &[u8],
        file: &Path,
        name: impl Fn(usize) -> Option<&'n str>,
    ) -> Option<Self> {
        let at = (t.scales().as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?;
        if at >= bytes.len() {
            return None;
        }
        Some(Self {
            file: file.to_owned(),
            name: name(at)?.to_owned(),
            offset: at as u64,
        })
    }
}

/// Counts what a file lacks, so that one line can tell.
#[derive(Default)]
pub(crate) struct Missing {
    first: Option<String>,
    count: usize,
}

impl Missing {
    /// Counting stops here: a hostile configuration may ask for millions of tensors.
    const ENOUGH: usize = 10_000;

    /// Adds one; true when that is enough.
    pub(crate) fn add(&mut self, name: String) -> bool {
        self.first.get_or_insert(name);
        self.count += 1;
        self.count >= Self::ENOUGH
    }

    /// The error, if anything is missing.
    pub(crate) fn report(self, file: &Path, hint: &str) -> Result<()> {
        let Some(first) = self.first else {
            return Ok(());
        };
        let others = match self.count - 1 {
            0 => String::new(),
            n if self.count >= Self::ENOUGH => format!(", and at least {n} more are missing too"),
            n => format!(", and {n} more are missing too"),
        };
        Err(Error::tensor(
            file,
            first,
            format!("is missing{others}: {hint}"),
        ))
    }
}

/// The container family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Hugging Face safetensors (bf16, f16, f32).
    HuggingFace,
    /// MLX safetensors (affine 4 or 8 bits, or unquantised with MLX names).
    Mlx,
    /// GGUF.
    Gguf,
}

impl Format {
    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::HuggingFace => "safetensors",
            Self::Mlx => "mlx",
            Self::Gguf => "gguf",
        }
    }
}

/// A model's weights, wherever they are stored. Implementations map their files and hand out views.
pub trait WeightSource: Send + Sync {
    /// The container family.
    fn format(&self) -> Format;
    /// The model's configuration; every tensor was checked against it when the source was opened.
    fn config(&self) -> &Config;
    /// A view of one tensor, exactly of shape [`TensorId::shape`]. Zero copies.
    ///
    /// # Errors
    /// When the stored bytes are not usable (for instance a NaN scale), naming file, tensor and offset.
    fn tensor(&self, id: TensorId) -> Result<WeightTensor<'_>>;
    /// Where the bytes of [`Self::tensor`] lie: for messages.
    fn locate(&self, id: TensorId) -> Option<Location> {
        let _ = id;
        None
    }
    /// A view of one tensor whose scales (plain tensors: values) were all read and found finite.
    ///
    /// A backend loads through this, once per tensor as it copies the bytes anyway; opening a file reads
    /// no tensor at all, so that 13 GB open in an instant.
    ///
    /// # Errors
    /// As [`Self::tensor`], and at the first NaN or infinity, naming file, tensor and offset.
    fn checked(&self, id: TensorId) -> Result<WeightTensor<'_>> {
        let t = self.tensor(id)?;
        let Some((what, offset)) = t.first_not_finite() else {
            return Ok(t);
        };
        let l = self.locate(id).unwrap_or_default();
        let name = if l.name.is_empty() {
            format!("{id:?}")
        } else {
            l.name
        };
        let at = offset as u64 + l.offset;
        Err(Error::tensor(
            &l.file,
            name,
            format!(
                "holds a {what} that is not a finite number (at byte {at}): the file is damaged"
            ),
        ))
    }
    /// Every stored tensor, in file order.
    fn entries(&self) -> Vec<TensorEntry>;
}
