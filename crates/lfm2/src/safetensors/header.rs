//! Parsing and checking the header.

use std::collections::HashMap;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use crate::error::{Error, Result};
use crate::quant::FloatType;

/// Element types that appear in the family's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dtype {
    /// A float.
    Float(FloatType),
    /// Packed codes of MLX.
    U32,
}

impl Dtype {
    /// Bytes per element.
    pub fn size(self) -> usize {
        match self {
            Self::Float(f) => f.size(),
            Self::U32 => 4,
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "F32" => Self::Float(FloatType::F32),
            "F16" => Self::Float(FloatType::F16),
            "BF16" => Self::Float(FloatType::Bf16),
            "U32" => Self::U32,
            _ => return None,
        })
    }

    /// The name the format uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float(FloatType::F32) => "F32",
            Self::Float(FloatType::F16) => "F16",
            Self::Float(FloatType::Bf16) => "BF16",
            Self::U32 => "U32",
        }
    }
}

/// One tensor of the header.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// Shape, slowest dimension first.
    pub shape: Vec<usize>,
    /// First byte in the file.
    pub start: usize,
    /// One past its last byte in the file.
    pub end: usize,
}

/// Longest header accepted (the format's own limit); the 24B's 7610 tensors need 1 MB.
const MAX_HEADER: u64 = 100_000_000;

/// A checked header.
#[derive(Debug, Clone, Default)]
pub struct Header {
    /// Tensors in file order.
    pub entries: Vec<Entry>,
    /// The free-form `__metadata__`.
    pub metadata: HashMap<String, String>,
    index: HashMap<String, usize>,
}

#[derive(serde::Deserialize)]
struct RawEntry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

/// The header's members in order, duplicates included: a JSON map type would silently drop them.
struct RawHeader {
    tensors: Vec<(String, RawEntry)>,
    metadata: HashMap<String, String>,
}

impl<'de> Deserialize<'de> for RawHeader {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = RawHeader;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of tensors")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawHeader, A::Error> {
                let mut raw = RawHeader {
                    tensors: Vec::new(),
                    metadata: HashMap::new(),
                };
                while let Some(key) = map.next_key::<String>()? {
                    if key == "__metadata__" {
                        raw.metadata = map.next_value()?;
                    } else {
                        raw.tensors.push((key, map.next_value()?));
                    }
                }
                Ok(raw)
            }
        }
        d.deserialize_map(Members)
    }
}

impl Header {
    /// Parses the header of a file with the contents `bytes`.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let Some(length) = bytes.first_chunk::<8>() else {
            return Err(Error::container(
                path,
                0,
                format!(
                    "has {} bytes; a safetensors file has at least 8",
                    bytes.len()
                ),
            ));
        };
        let length = u64::from_le_bytes(*length);
        let room = (bytes.len() - 8) as u64;
        if length > room {
            let what = if bytes.starts_with(b"GGUF") {
                "is a GGUF file, not safetensors: give it the ending .gguf".to_owned()
            } else {
                format!(
                    "its header claims {length} bytes and {room} follow: not a safetensors file, or cut short"
                )
            };
            return Err(Error::container(path, 0, what));
        }
        if length > MAX_HEADER {
            return Err(Error::container(
                path,
                0,
                format!(
                    "its header claims {length} bytes; more than {MAX_HEADER} is no real header"
                ),
            ));
        }
        let data = 8 + length as usize;
        let text = std::str::from_utf8(&bytes[8..data]).map_err(|e| {
            Error::container(
                path,
                8 + e.valid_up_to() as u64,
                "the header is not UTF-8".to_owned(),
            )
        })?;
        let raw: RawHeader = serde_json::from_str(text).map_err(|e| {
            // Column numbers count bytes of the header's (usually only) line.
            Error::container(
                path,
                8 + e.column() as u64,
                format!("the header is not as expected: {e}"),
            )
        })?;
        let mut header = Self {
            metadata: raw.metadata,
            ..Self::default()
        };
        for (name, e) in raw.tensors {
            header
                .entries
                .push(entry(path, name, &e, data, bytes.len())?);
        }
        header.entries.sort_by_key(|e| (e.start, e.end));
        for pair in header.entries.windows(2) {
            if pair[1].start < pair[0].end {
                return Err(Error::tensor(
                    path,
                    &pair[1].name,
                    format!("overlaps {} (at byte {})", pair[0].name, pair[1].start),
                ));
            }
        }
        for (i, e) in header.entries.iter().enumerate() {
            if header.index.insert(e.name.clone(), i).is_some() {
                return Err(Error::tensor(
                    path,
                    &e.name,
                    "is listed twice in the header".to_owned(),
                ));
            }
        }
        Ok(header)
    }

    /// The name of the tensor that holds byte `at` of the file.
    pub(super) fn at(&self, at: usize) -> Option<&str> {
        let next = self.entries.partition_point(|e| e.start <= at);
        let e = &self.entries[next.checked_sub(1)?];
        (at < e.end).then_some(&e.name)
    }

    /// The tensor called `name`.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.index.get(name).map(|i| &self.entries[*i])
    }
}

fn entry(path: &Path, name: String, e: &RawEntry, data: usize, len: usize) -> Result<Entry> {
    let wrong = |what: String| Error::tensor(path, &name, what);
    let [start, end] = e.data_offsets;
    let room = (len - data) as u64;
    if start > end || end > room {
        return Err(wrong(format!(
            "lies at bytes {start} to {end} of {room} bytes of data: the file is cut short or damaged"
        )));
    }
    let dtype = Dtype::parse(&e.dtype).ok_or_else(|| {
        wrong(format!(
            "has type {}; supported are F32, F16, BF16, and U32 for MLX codes",
            e.dtype
        ))
    })?;
    let mut count: u64 = dtype.size() as u64;
    for d in &e.shape {
        count = count
            .checked_mul(*d)
            .ok_or_else(|| wrong(format!("has the absurd shape {:?}", e.shape)))?;
    }
    if count != end - start {
        return Err(wrong(format!(
            "has shape {:?} of {} ({count} bytes) but {} bytes of data (at byte {})",
            e.shape,
            dtype.name(),
            end - start,
            data as u64 + start
        )));
    }
    Ok(Entry {
        dtype,
        shape: e.shape.iter().map(|d| *d as usize).collect(),
        start: data + start as usize,
        end: data + end as usize,
        name,
    })
}
