//! Any bytes as a safetensors file (behind a small fixed configuration, or one in the input's first part):
//! an error or a model whose every tensor can be read, never a panic.
#![no_main]

use lfm2::WeightSource as _;
use libfuzzer_sys::fuzz_target;

const CONFIG: &[u8] = br#"{"model_type":"lfm2","vocab_size":8,"hidden_size":32,"num_hidden_layers":1,
"layer_types":["conv"],"num_attention_heads":2,"num_key_value_heads":1,"intermediate_size":32,"conv_L_cache":3,
"block_auto_adjust_ff_dim":false,"max_position_embeddings":64,"eos_token_id":2,
"quantization":{"bits":4,"group_size":32}}"#;

fuzz_target!(|data: &[u8]| {
    let (config, weights) = match data.iter().position(|b| *b == 0xff) {
        Some(i) => (&data[..i], &data[i + 1..]),
        None => (CONFIG, data),
    };
    if let Ok(model) = lfm2::open_safetensors_bytes("fuzz", config, weights) {
        for id in lfm2::TensorId::all(model.config()) {
            let _ = model.checked(id);
            if let Ok(t) = model.tensor(id) {
                t.row_f32(t.rows - 1, &mut vec![0.0; t.cols]);
            }
        }
    }
});
