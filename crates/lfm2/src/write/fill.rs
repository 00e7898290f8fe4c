//! Filling planned files with several threads and bounded memory.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::WriteOptions;
use super::plan::{Piece, Plan};
use super::storage::Encoded;
use super::temp::TempFile;
use super::values::Values;
use crate::error::{Error, Result};

/// Weights encoded at a time: a thread holds them once as floats and once encoded, 8 MB at most.
const CHUNK: usize = 1 << 20;

/// Creates and fills every file of `plan`; they still have their temporary names.
pub(super) fn fill(
    dir: &Path,
    plan: &Plan,
    values: &dyn Values,
    options: WriteOptions<'_>,
) -> Result<Vec<TempFile>> {
    let total = plan.bytes();
    let mut files = Vec::new();
    for f in &plan.files {
        let file = TempFile::create(dir, &f.name, f.bytes, total)?;
        file.write_at(0, &f.header)?;
        files.push(file);
    }
    let mut work: Vec<(&Piece, usize)> = Vec::new();
    for p in &plan.pieces {
        work.extend((0..p.rows).step_by(rows_per_chunk(p)).map(|row| (p, row)));
    }
    let next = AtomicUsize::new(0);
    let done = AtomicU64::new(plan.files.iter().map(|f| f.header.len() as u64).sum());
    let failure: Mutex<Option<Error>> = Mutex::new(None);

    let worker = || {
        let (mut scratch, mut out) = (Vec::new(), Encoded::default());
        while let Some((piece, row)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            let go_on = chunk(piece, *row, &files, values, &mut scratch, &mut out).and_then(|n| {
                let n = done.fetch_add(n, Ordering::Relaxed) + n;
                if (options.progress)(n, total) {
                    Ok(())
                } else {
                    Err(Error::Input("stopped; nothing was written".to_owned()))
                }
            });
            if let Err(e) = go_on {
                next.store(work.len(), Ordering::Relaxed);
                if let Ok(mut f) = failure.lock() {
                    f.get_or_insert(e);
                }
                return;
            }
        }
    };
    std::thread::scope(|s| {
        for _ in 1..options.threads.clamp(1, 64) {
            s.spawn(worker);
        }
        worker();
    });
    match failure.into_inner() {
        Ok(Some(e)) => Err(e),
        _ => Ok(files),
    }
}

fn rows_per_chunk(p: &Piece) -> usize {
    (CHUNK / p.cols).max(1)
}

/// Encodes the chunk of `piece` that starts at `row` and writes its parts; returns their bytes.
fn chunk(
    piece: &Piece,
    row: usize,
    files: &[TempFile],
    values: &dyn Values,
    scratch: &mut Vec<f32>,
    out: &mut Encoded,
) -> Result<u64> {
    let rows = row..(row + rows_per_chunk(piece)).min(piece.rows);
    let size = piece.storage.row_bytes(piece.cols);
    let expected = size.map(|s| s * rows.len());
    out.clear();
    values.encode(piece.id, piece.storage, rows, piece.cols, scratch, out)?;
    for (part, bytes) in out.parts().into_iter().enumerate() {
        assert_eq!(
            bytes.len(),
            expected[part],
            "{:?} as {:?}",
            piece.id,
            piece.storage
        );
        let (file, start) = piece.at[part];
        files[file].write_at(start + (size[part] * row) as u64, bytes)?;
    }
    Ok(expected.iter().sum::<usize>() as u64)
}
