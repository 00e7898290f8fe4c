//! Any bytes as a GGUF file: an error or a model whose every tensor can be read, never a panic.
#![no_main]

use lfm2::WeightSource as _;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(model) = lfm2::open_gguf_bytes("fuzz.gguf", data) {
        for id in lfm2::TensorId::all(model.config()) {
            let _ = model.checked(id);
            if let Ok(t) = model.tensor(id) {
                t.row_f32(t.rows - 1, &mut vec![0.0; t.cols]);
            }
        }
    }
});
