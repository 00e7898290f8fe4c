//! Times candle's LFM2 on a GGUF file: `candle-peer FILE PROMPT DECODE PASSES`.
//! One JSON object on stdout: seconds of loading, of each pass's prefill and of each pass's decode.
//! The first pass packs weights; readers of the output leave its prefill out.

use std::time::Instant;

use candle_core::quantized::gguf_file;
use candle_core::{D, Device, Result, Tensor};
use candle_transformers::models::quantized_lfm2::ModelWeights;

fn best(logits: &Tensor) -> Result<u32> {
    logits.argmax(D::Minus1)?.flatten_all()?.get(0)?.to_scalar()
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, prompt, decode, passes] = &args[..] else {
        eprintln!("usage: candle-peer FILE PROMPT DECODE PASSES");
        std::process::exit(2);
    };
    let number = |s: &String| s.parse::<usize>().expect("a number");
    let (prompt, decode, passes) = (number(prompt), number(decode), number(passes));
    let device = Device::Cpu;
    let start = Instant::now();
    let mut reader = std::fs::File::open(file)?;
    let content = gguf_file::Content::read(&mut reader)?;
    let mut model = ModelWeights::from_gguf(content, &mut reader, &device)?;
    let load = start.elapsed().as_secs_f64();
    // Any tokens do for timing; the same ones in every pass.
    let ids: Vec<u32> = (0..prompt as u32).map(|i| 1000 + i * 37 % 50_000).collect();
    let mut prefills = Vec::new();
    let mut decodes = Vec::new();
    let mut tokens = Vec::new();
    let mut first = None;
    for _ in 0..passes {
        tokens.clear();
        let t = Instant::now();
        let logits = model.forward(&Tensor::new(&ids[..], &device)?.unsqueeze(0)?, 0)?;
        let mut next = best(&logits)?;
        prefills.push(t.elapsed().as_secs_f64());
        first.get_or_insert_with(|| start.elapsed().as_secs_f64());
        let t = Instant::now();
        for i in 0..decode {
            tokens.push(next);
            let logits = model.forward(&Tensor::new(&[next], &device)?.unsqueeze(0)?, prompt + i)?;
            next = best(&logits)?;
        }
        decodes.push(t.elapsed().as_secs_f64());
    }
    println!(
        "{{\"load_s\":{load},\"first_token_s\":{},\"prompt\":{prompt},\"decode\":{decode},\
         \"prefill_s\":{prefills:?},\"decode_s\":{decodes:?},\"tokens\":{tokens:?}}}",
        first.unwrap_or_default()
    );
    Ok(())
}
