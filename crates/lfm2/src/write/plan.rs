//! Where every byte will lie.

use super::storage::Storage;
use crate::tensor::TensorId;

/// One file.
#[derive(Debug)]
pub(super) struct PlannedFile {
    pub(super) name: String,
    /// Its beginning, up to the first tensor byte.
    pub(super) header: Vec<u8>,
    /// Its whole length.
    pub(super) bytes: u64,
    /// Names of the arrays it holds.
    pub(super) arrays: Vec<String>,
}

/// One tensor, or one expert's slice of a stack.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) id: TensorId,
    pub(super) storage: Storage,
    pub(super) rows: usize,
    pub(super) cols: usize,
    /// File and first byte of the main part, the scales and the biases.
    pub(super) at: [(usize, u64); 3],
}

/// All files of a model.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) files: Vec<PlannedFile>,
    pub(super) pieces: Vec<Piece>,
}

impl Plan {
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.bytes).sum()
    }
}

/// Tensors stored as one array (or three): a single one, or all experts of a layer.
#[derive(Debug)]
pub(super) struct Group {
    /// Name without suffix for arrays in three parts; whole otherwise.
    pub(super) name: String,
    pub(super) ids: Vec<TensorId>,
    pub(super) storage: Storage,
    pub(super) rows: usize,
    pub(super) cols: usize,
    /// Whether the array has a leading expert axis, even for one expert.
    pub(super) stacked: bool,
}

impl Group {
    /// Bytes of part `part` of all members.
    pub(super) fn bytes(&self, part: usize) -> u64 {
        self.storage.row_bytes(self.cols)[part] as u64 * self.rows as u64 * self.ids.len() as u64
    }

    /// Adds the members' pieces, given where each part of the group begins.
    pub(super) fn place(&self, at: [(usize, u64); 3], pieces: &mut Vec<Piece>) {
        let size = self.storage.row_bytes(self.cols);
        for (i, id) in self.ids.iter().enumerate() {
            let place = |part: usize| {
                let (file, start) = at[part];
                (file, start + (size[part] * self.rows * i) as u64)
            };
            pieces.push(Piece {
                id: *id,
                storage: self.storage,
                rows: self.rows,
                cols: self.cols,
                at: [place(0), place(1), place(2)],
            });
        }
    }
}

/// Gathers tensors into groups in the order in which names first occur.
pub(super) fn group(
    ids: impl Iterator<Item = TensorId>,
    name: impl Fn(TensorId) -> (String, bool),
    storage: impl Fn(TensorId) -> Storage,
    shape: impl Fn(TensorId) -> [usize; 2],
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut index = std::collections::HashMap::new();
    for id in ids {
        let (name, stacked) = name(id);
        if let Some(&i) = index.get(&name) {
            let g: &mut Group = &mut groups[i];
            g.ids.push(id);
            continue;
        }
        index.insert(name.clone(), groups.len());
        let [rows, cols] = shape(id);
        groups.push(Group {
            name,
            ids: vec![id],
            storage: storage(id),
            rows,
            cols,
            stacked,
        });
    }
    groups
}
