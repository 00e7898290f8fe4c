//! Parsing and checking a GGUF file's header.
//!
//! Nothing is allocated from a count the file claims before the bytes that would back it have been seen
//! to exist: every element costs at least one byte of file.

use std::collections::HashSet;
use std::path::Path;

use super::metadata::{Metadata, Value};
use crate::error::{Error, Result};

/// Storage types this engine reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GgmlType {
    /// Single precision.
    F32,
    /// Half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// 4 bits, 32 to a block.
    Q4_0,
    /// 8 bits, 32 to a block.
    Q8_0,
    /// K-quant of 4.5 bits.
    Q4K,
    /// K-quant of 5.5 bits.
    Q5K,
    /// K-quant of 6.5625 bits.
    Q6K,
}

impl GgmlType {
    /// Weights and bytes per block.
    pub fn block(self) -> (usize, usize) {
        match self {
            Self::F32 => (1, 4),
            Self::F16 | Self::Bf16 => (1, 2),
            Self::Q4_0 => (32, 18),
            Self::Q8_0 => (32, 34),
            Self::Q4K => (256, 144),
            Self::Q5K => (256, 176),
            Self::Q6K => (256, 210),
        }
    }

    /// The format's number for it.
    pub fn id(self) -> u32 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::Q4_0 => 2,
            Self::Q8_0 => 8,
            Self::Q4K => 12,
            Self::Q5K => 13,
            Self::Q6K => 14,
            Self::Bf16 => 30,
        }
    }

    /// The name the format uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
            Self::Q4_0 => "Q4_0",
            Self::Q8_0 => "Q8_0",
            Self::Q4K => "Q4_K",
            Self::Q5K => "Q5_K",
            Self::Q6K => "Q6_K",
        }
    }

    /// Every type.
    pub const ALL: [Self; 8] = [
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::Q4_0,
        Self::Q8_0,
        Self::Q4K,
        Self::Q5K,
        Self::Q6K,
    ];

    fn from_id(id: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.id() == id)
    }
}

/// Names of the types the format knows, for a clear refusal.
fn type_name(id: u32) -> String {
    let known = [
        (3, "Q4_1"),
        (6, "Q5_0"),
        (7, "Q5_1"),
        (9, "Q8_1"),
        (10, "Q2_K"),
        (11, "Q3_K"),
        (15, "Q8_K"),
        (16, "IQ2_XXS"),
        (17, "IQ2_XS"),
        (18, "IQ3_XXS"),
        (19, "IQ1_S"),
        (20, "IQ4_NL"),
        (21, "IQ3_S"),
        (22, "IQ2_S"),
        (23, "IQ4_XS"),
        (29, "IQ1_M"),
        (34, "TQ1_0"),
        (35, "TQ2_0"),
        (39, "MXFP4"),
    ];
    known
        .iter()
        .find(|(i, _)| *i == id)
        .map_or_else(|| format!("number {id}"), |(_, n)| (*n).to_owned())
}

/// One tensor of the header.
#[derive(Debug, Clone)]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// Shape, slowest dimension first (the file lists it the other way round).
    pub shape: Vec<usize>,
    /// Storage type.
    pub ty: GgmlType,
    /// First byte in the file.
    pub start: usize,
    /// One past its last byte in the file.
    pub end: usize,
}

/// A checked header.
#[derive(Debug)]
pub struct Parsed {
    /// Key–value pairs.
    pub metadata: Metadata,
    /// Tensors in file order.
    pub tensors: Vec<TensorInfo>,
}

/// Longest metadata array accepted. Elements are widened when read, so without a limit a large hostile
/// file could claim many times its own size of memory; the longest real list (merges) has 400 thousand.
const MAX_ARRAY: usize = 1 << 22;
/// Most metadata accepted, in bytes of the file; real files have 10 MB.
const MAX_METADATA: usize = 1 << 26;

/// Reads values off a slice; every failure names the byte where it happened.
struct Cursor<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn fail<T>(&self, what: impl Into<String>) -> Result<T> {
        Err(Error::container(self.path, self.at as u64, what))
    }

    fn take(&mut self, n: usize, what: &str) -> Result<&'a [u8]> {
        match self.bytes[self.at..].get(..n) {
            Some(b) => {
                self.at += n;
                Ok(b)
            }
            None => self.fail(format!(
                "the file ends within {what} ({n} bytes wanted, {} left): it is cut short or damaged",
                self.bytes.len() - self.at
            )),
        }
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N, what)?);
        Ok(out)
    }

    fn u32(&mut self, what: &str) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    fn u64(&mut self, what: &str) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A count of things that take at least `size` bytes each.
    fn count(&mut self, size: usize, what: &str) -> Result<usize> {
        let n = self.u64(what)?;
        let left = (self.bytes.len() - self.at) as u64;
        match n.checked_mul(size as u64) {
            Some(need) if need <= left => Ok(n as usize),
            _ => self.fail(format!(
                "{what} is {n}, more than the {left} bytes left in the file can hold"
            )),
        }
    }

    fn string(&mut self, what: &str) -> Result<String> {
        let n = self.count(1, &format!("the length of {what}"))?;
        let start = self.at;
        let b = self.take(n, what)?;
        match std::str::from_utf8(b) {
            Ok(s) => Ok(s.to_owned()),
            Err(e) => {
                self.at = start + e.valid_up_to();
                self.fail(format!("{what} is not UTF-8"))
            }
        }
    }

    fn scalar(&mut self, ty: u32, key: &str) -> Result<Value> {
        let what = format!("the value of {key}");
        Ok(match ty {
            0 => Value::Unsigned(self.array::<1>(&what)?[0].into()),
            1 => Value::Signed(i8::from_le_bytes(self.array(&what)?).into()),
            2 => Value::Unsigned(u16::from_le_bytes(self.array(&what)?).into()),
            3 => Value::Signed(i16::from_le_bytes(self.array(&what)?).into()),
            4 => Value::Unsigned(self.u32(&what)?.into()),
            5 => Value::Signed(i32::from_le_bytes(self.array(&what)?).into()),
            6 => Value::Float(f32::from_le_bytes(self.array(&what)?).into()),
            7 => Value::Bool(self.array::<1>(&what)?[0] != 0),
            8 => Value::String(self.string(&what)?),
            10 => Value::Unsigned(self.u64(&what)?),
            11 => Value::Signed(i64::from_le_bytes(self.array(&what)?)),
            12 => Value::Float(f64::from_le_bytes(self.array(&what)?)),
            _ => return self.fail(format!("{key} has the unknown value type {ty}")),
        })
    }

    fn value(&mut self, key: &str) -> Result<Value> {
        let ty = self.u32(&format!("the type of {key}"))?;
        if ty != 9 {
            return self.scalar(ty, key);
        }
        let element = self.u32(&format!("the element type of {key}"))?;
        let size = match element {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            8 | 10..=12 => 8,
            9 => {
                return self.fail(format!(
                    "{key} is an array of arrays, which no model of the family has"
                ));
            }
            _ => return self.fail(format!("{key} has the unknown element type {element}")),
        };
        let n = self.count(size, &format!("the length of {key}"))?;
        if n > MAX_ARRAY {
            return self.fail(format!(
                "{key} has {n} elements; more than {MAX_ARRAY} is no real list"
            ));
        }
        Ok(match element {
            8 => {
                let mut v = Vec::new();
                for _ in 0..n {
                    v.push(self.string(&format!("an element of {key}"))?);
                }
                Value::Strings(v)
            }
            6 | 12 => {
                let mut v = Vec::new();
                for _ in 0..n {
                    if let Value::Float(f) = self.scalar(element, key)? {
                        v.push(f);
                    }
                }
                Value::Floats(v)
            }
            _ => {
                let mut v = Vec::new();
                for _ in 0..n {
                    v.push(match self.scalar(element, key)? {
                        Value::Unsigned(u) => match i64::try_from(u) {
                            Ok(u) => u,
                            Err(_) => return self.fail(format!("{key} holds {u}, beyond 63 bits")),
                        },
                        Value::Signed(i) => i,
                        Value::Bool(b) => b.into(),
                        _ => 0,
                    });
                }
                Value::Integers(v)
            }
        })
    }
}

/// Parses and checks the header of a file with the contents `bytes`.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Parsed> {
    let mut c = Cursor { path, bytes, at: 0 };
    if !bytes.starts_with(b"GGUF") {
        let start: Vec<String> = bytes.iter().take(8).map(|b| format!("{b:02x}")).collect();
        return c.fail(format!(
            "is not a GGUF file: it starts with {}",
            start.join(" ")
        ));
    }
    c.at = 4;
    let version = c.u32("the version")?;
    if version != 3 {
        c.at = 4;
        return c.fail(if version != 0 && version.swap_bytes() <= 16 {
            "is a big-endian GGUF file, which is not supported: convert it to little-endian"
                .to_owned()
        } else {
            format!("is GGUF version {version}; version 3 is supported: convert it again")
        });
    }
    // A tensor takes at least 8 + 4 + 8 + 4 + 8 bytes, a key-value pair 8 + 4 + 1.
    let tensor_count = c.count(32, "the number of tensors")?;
    let pair_count = c.count(13, "the number of metadata pairs")?;
    let metadata = metadata(&mut c, pair_count)?;
    let alignment = match metadata.get("general.alignment") {
        None => 32,
        Some(_) => metadata.unsigned("general.alignment")? as usize,
    };
    if !alignment.is_power_of_two() || alignment > 1 << 20 {
        return c.fail(format!(
            "general.alignment is {alignment}; expected a power of two up to 2^20"
        ));
    }
    let tensors = tensors(&mut c, tensor_count, alignment)?;
    Ok(Parsed { metadata, tensors })
}

fn metadata(c: &mut Cursor<'_>, n: usize) -> Result<Metadata> {
    let mut m = Metadata {
        origin: format!("GGUF metadata of {}", c.path.display()),
        entries: Vec::new(),
    };
    let mut seen = HashSet::new();
    for _ in 0..n {
        let at = c.at;
        let key = c.string("a metadata key")?;
        let value = c.value(&key)?;
        if c.at > MAX_METADATA {
            return c.fail(format!("the metadata takes more than {MAX_METADATA} bytes"));
        }
        if !seen.insert(key.clone()) {
            c.at = at;
            return c.fail(format!("the metadata key {key} occurs twice"));
        }
        m.entries.push((key, value));
    }
    Ok(m)
}

fn tensors(c: &mut Cursor<'_>, n: usize, alignment: usize) -> Result<Vec<TensorInfo>> {
    struct Raw {
        name: String,
        shape: Vec<usize>,
        ty: GgmlType,
        offset: u64,
        at: usize,
    }
    let mut raw: Vec<Raw> = Vec::new();
    let mut seen = HashSet::new();
    for _ in 0..n {
        let at = c.at;
        let name = c.string("a tensor's name")?;
        let wrong = |what: String| {
            Err(Error::tensor(
                c.path,
                &name,
                format!("{what} (header at byte {at})"),
            ))
        };
        if !seen.insert(name.clone()) {
            return wrong("is listed twice".to_owned());
        }
        let dims = c.u32("a tensor's dimensions")?;
        if dims == 0 || dims > 4 {
            return wrong(format!("has {dims} dimensions; expected 1 to 4"));
        }
        let mut shape = Vec::new();
        for _ in 0..dims {
            shape.push(c.u64("a tensor's shape")?);
        }
        let id = c.u32("a tensor's type")?;
        let offset = c.u64("a tensor's offset")?;
        let Some(ty) = GgmlType::from_id(id) else {
            return wrong(format!(
                "has type {}, which is not supported (supported: F32, F16, BF16, Q4_0, Q8_0, Q4_K, Q5_K, Q6_K)",
                type_name(id)
            ));
        };
        let count = shape.iter().try_fold(1_u64, |n, d| n.checked_mul(*d));
        if count.is_none_or(|n| n > 1 << 48) || shape.contains(&0) {
            return wrong(format!("has the absurd shape {shape:?}"));
        }
        shape.reverse();
        raw.push(Raw {
            name,
            shape: shape.iter().map(|d| *d as usize).collect(),
            ty,
            offset,
            at,
        });
    }
    let data = c.at.next_multiple_of(alignment);
    let mut out = Vec::with_capacity(raw.len());
    for r in raw {
        let wrong = |what: String| {
            Err(Error::tensor(
                c.path,
                &r.name,
                format!("{what} (header at byte {})", r.at),
            ))
        };
        let (per, size) = r.ty.block();
        let row = r.shape.last().copied().unwrap_or(1);
        if !row.is_multiple_of(per) {
            return wrong(format!(
                "has rows of {row}; {} needs multiples of {per}",
                r.ty.name()
            ));
        }
        if !r.offset.is_multiple_of(alignment as u64) {
            return wrong(format!(
                "has the offset {}, no multiple of the alignment {alignment}",
                r.offset
            ));
        }
        let bytes = r.shape.iter().product::<usize>() / per * size;
        let start = usize::try_from(r.offset)
            .ok()
            .and_then(|o| o.checked_add(data));
        let end = start.and_then(|s| s.checked_add(bytes));
        let (Some(start), Some(end)) = (start, end) else {
            return wrong(format!("has the absurd offset {}", r.offset));
        };
        if end > c.bytes.len() {
            return wrong(format!(
                "lies at bytes {start} to {end} but the file has {}: it is cut short",
                c.bytes.len()
            ));
        }
        out.push(TensorInfo {
            name: r.name,
            shape: r.shape,
            ty: r.ty,
            start,
            end,
        });
    }
    out.sort_by_key(|t| t.start);
    for pair in out.windows(2) {
        if pair[1].start < pair[0].end {
            return Err(Error::tensor(
                c.path,
                &pair[1].name,
                format!("overlaps {} (at byte {})", pair[0].name, pair[1].start),
            ));
        }
    }
    Ok(out)
}
