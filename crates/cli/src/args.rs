//! What can be typed.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use crate::instruments::measure::Kind;

/// Runs LiquidAI's LFM2 and LFM2.5 models on this machine, specialised to it.
#[derive(Debug, Parser)]
#[command(name = "molten", version, max_term_width = 100)]
pub(crate) struct Args {
    /// Show the causes of errors and what is going on.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Chat: one answer to PROMPT, or a conversation.
    Chat(Chat),
    /// Complete a text as it stands, without a chat template.
    Run(Run),
    /// Look into a model: configuration, tensors, sizes, bytes per token.
    Inspect(Inspect),
    /// Make a model with random weights and true shapes, for timing and tests.
    Synth(Synth),
    /// Show devices, settings and where each setting comes from.
    Doctor(Doctor),
    /// Compare this machine's logits with the reference.
    Verify(Verify),
    /// Measure speed, as tok/s and as a share of what the memory allows.
    Bench(Bench),
    /// Reckon the fastest decoding that memory bandwidth allows.
    Roofline(Roofline),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write man pages into a directory.
    Man {
        /// Where to.
        dir: PathBuf,
    },
}

/// Which model on which device.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct ModelArgs {
    /// A model directory, a .gguf file, or a name in the model directory [default: the built-in spark].
    #[arg(short, long, env = "MOLTEN_MODEL")]
    pub(crate) model: Option<String>,
    /// Where to compute.
    #[arg(short, long, env = "MOLTEN_DEVICE")]
    pub(crate) device: Option<String>,
    /// Most tokens of prompt and answer together.
    #[arg(short, long, env = "MOLTEN_CONTEXT")]
    pub(crate) context: Option<usize>,
    /// Threads [default: every processor this process may use].
    #[arg(short, long, env = "MOLTEN_THREADS")]
    pub(crate) threads: Option<usize>,
    /// Instruction set path: scalar, avx2, avx512-vnni, neon or neon-dotprod [default: the best there is].
    #[arg(long, env = "MOLTEN_ISA")]
    pub(crate) isa: Option<String>,
    /// How activations meet quantised weights: int16 (exact enough for anything) or int8 (faster) [default: int16].
    #[arg(long, env = "MOLTEN_PRECISION")]
    pub(crate) precision: Option<String>,
}

/// How tokens are chosen.
#[derive(Debug, Clone, Default, ClapArgs)]
#[command(next_help_heading = "Sampling (defaults come from the model)")]
pub(crate) struct SamplingArgs {
    /// 0 always takes the likeliest token.
    #[arg(long, env = "MOLTEN_TEMPERATURE")]
    pub(crate) temperature: Option<f32>,
    /// Keep the K likeliest tokens; 0 keeps all.
    #[arg(long, value_name = "K")]
    pub(crate) top_k: Option<usize>,
    /// Keep the likeliest tokens that together have this probability.
    #[arg(long, value_name = "P")]
    pub(crate) top_p: Option<f32>,
    /// Drop tokens less likely than this share of the likeliest.
    #[arg(long, value_name = "P")]
    pub(crate) min_p: Option<f32>,
    /// Make tokens seen before less likely; 1 is off.
    #[arg(long, value_name = "F")]
    pub(crate) repetition_penalty: Option<f32>,
    /// Subtract from tokens generated before.
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    pub(crate) presence_penalty: Option<f32>,
    /// Subtract from tokens each time they were generated before.
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    pub(crate) frequency_penalty: Option<f32>,
    /// Add to the logit of a token id, as ID=VALUE.
    #[arg(long, value_name = "ID=VALUE", value_parser = logit_bias, allow_hyphen_values = true)]
    pub(crate) logit_bias: Vec<(u32, f32)>,
    /// Same seed, same answer.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Most tokens to generate [default: what the context leaves].
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) max_tokens: Option<usize>,
    /// End before this text; may be given several times.
    #[arg(long, value_name = "TEXT")]
    pub(crate) stop: Vec<String>,
}

fn logit_bias(s: &str) -> Result<(u32, f32), String> {
    let (id, value) = s.split_once('=').ok_or("expected ID=VALUE")?;
    Ok((
        id.parse().map_err(|_| format!("{id:?} is no token id"))?,
        value
            .parse()
            .map_err(|_| format!("{value:?} is no number"))?,
    ))
}

/// `molten chat`
#[derive(Debug, ClapArgs)]
pub(crate) struct Chat {
    /// What to say. Without it: a conversation on a terminal, else standard input.
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// The system prompt.
    #[arg(short, long)]
    pub(crate) system: Option<String>,
    /// A JSON file with a list of tools (OpenAI's form or bare functions) to offer.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// Hide the model's thoughts.
    #[arg(long)]
    pub(crate) hide_thinking: bool,
    /// Print statistics after each answer (to standard error).
    #[arg(long)]
    pub(crate) stats: bool,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}

/// `molten run`
#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    /// The text to continue [default: standard input].
    #[arg(short, long)]
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Let the text spell special tokens such as <|im_start|>.
    #[arg(long)]
    pub(crate) special: bool,
    /// Do not begin with the beginning-of-sequence token.
    #[arg(long)]
    pub(crate) no_bos: bool,
    /// Do not print statistics.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}

/// `molten inspect`
#[derive(Debug, ClapArgs)]
pub(crate) struct Inspect {
    /// A model directory, a .gguf file, or a name [default: the built-in spark].
    pub(crate) model: Option<String>,
    /// List every tensor.
    #[arg(long)]
    pub(crate) tensors: bool,
    /// Contexts to count bytes per token for.
    #[arg(long, value_delimiter = ',', default_values_t = [0_usize, 256, 4096, 16384, 32768])]
    pub(crate) contexts: Vec<usize>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Formats `molten synth` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SynthFormat {
    /// MLX, 4 bits, group 64.
    Mlx4,
    /// MLX, 8 bits, group 64.
    Mlx8,
    /// Unquantised in bf16: Hugging Face safetensors, or GGUF where OUT ends in .gguf.
    Bf16,
    /// The same in f16.
    F16,
    /// The same in single precision.
    F32,
    /// GGUF Q4_0.
    #[value(name = "q4_0")]
    Q4_0,
    /// GGUF Q8_0.
    #[value(name = "q8_0")]
    Q8_0,
    /// GGUF Q4_K_M.
    #[value(name = "q4_k_m")]
    Q4KM,
    /// GGUF Q5_K_M.
    #[value(name = "q5_k_m")]
    Q5KM,
    /// GGUF Q6_K.
    #[value(name = "q6_k")]
    Q6K,
}

/// `molten synth`
#[derive(Debug, ClapArgs)]
pub(crate) struct Synth {
    /// A member of the family (lfm2-24b-a2b, …), or a config.json.
    pub(crate) model: String,
    /// Where to: a directory, or a .gguf file for the GGUF formats.
    pub(crate) out: PathBuf,
    /// How weights are stored.
    #[arg(short, long, value_enum, default_value = "mlx4")]
    pub(crate) format: SynthFormat,
    /// Same seed, same weights.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Replace what is there.
    #[arg(long)]
    pub(crate) force: bool,
}

/// `molten doctor`
#[derive(Debug, ClapArgs)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `molten verify`
#[derive(Debug, ClapArgs)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Steps whose logits are compared [default: 10, 500 and 5000 as far as model and context allow].
    #[arg(long, value_delimiter = ',')]
    pub(crate) steps: Vec<usize>,
    /// Compare with a file that another engine made (see tools/golden/against.py) instead.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) against: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `molten roofline`
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "ceiling = read bandwidth / bytes one decoded token must move at batch 1\n\n\
    Left out: arithmetic, waiting between operators, caches that keep part of the\n\
    model, drafting (several tokens a pass), and padding of any real layout."
)]
pub(crate) struct Roofline {
    /// A model directory, a .gguf file, a name, or a member of the family such as
    /// lfm2-24b-a2b, for which no file is needed [default: the built-in spark].
    pub(crate) model: Option<String>,
    /// Earlier positions a token is decoded after.
    #[arg(long, value_delimiter = ',', value_name = "N",
          default_values_t = [0_usize, 256, 4096, 16384, 32768])]
    pub(crate) contexts: Vec<usize>,
    /// Reckon with this storage instead of the files' own [default without files: mlx4].
    #[arg(long, value_enum)]
    pub(crate) format: Option<NominalFormat>,
    /// Reckon with MLX weights of so many bits, group 64.
    #[arg(long, value_name = "N", conflicts_with = "format",
          value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) bits: Option<u32>,
    /// Reckon with this bandwidth (GB/s) instead of measuring: what could another device do?
    #[arg(long, value_name = "GB/S", value_parser = positive)]
    pub(crate) bandwidth: Option<f64>,
    /// Tell which bandwidth, or how many bits a weight, this speed would take.
    #[arg(long, value_name = "TOK/S", value_parser = positive)]
    pub(crate) target: Option<f64>,
    /// Measure with at most so many threads [default: all].
    #[arg(short, long, env = "MOLTEN_THREADS")]
    pub(crate) threads: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Storage to reckon with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NominalFormat {
    /// MLX, 4 bits, group 64.
    Mlx4,
    /// MLX, 8 bits, group 64.
    Mlx8,
    /// bf16.
    Bf16,
    /// Single precision.
    F32,
    /// GGUF Q4_0.
    #[value(name = "q4_0")]
    Q4_0,
    /// GGUF Q8_0.
    #[value(name = "q8_0")]
    Q8_0,
}

fn positive(s: &str) -> Result<f64, String> {
    s.parse()
        .ok()
        .filter(|v: &f64| v.is_finite() && *v > 0.0)
        .ok_or_else(|| "expected a number above 0".to_owned())
}

/// `30`, `30s`, `10m` or `1h`, in seconds.
fn duration(s: &str) -> Result<f64, String> {
    let (number, unit) = match s.char_indices().next_back() {
        Some((i, 's')) => (&s[..i], 1.0),
        Some((i, 'm')) => (&s[..i], 60.0),
        Some((i, 'h')) => (&s[..i], 3600.0),
        _ => (s, 1.0),
    };
    positive(number)
        .map(|v| v * unit)
        .map_err(|_| "expected a duration such as 30s, 10m or 1h".to_owned())
}

/// `molten bench`
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Every figure is a median with its spread, next to the ceiling that the\n\
    bandwidth measured in the same run allows. No speed is given when the\n\
    correctness check fails."
)]
pub(crate) struct Bench {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Measure random weights of this member of the family (lfm2-24b-a2b, ...) or config.json.
    #[arg(long, value_name = "NAME", conflicts_with = "model")]
    pub(crate) synthetic: Option<String>,
    /// How --synthetic stores weights.
    #[arg(long, value_enum, default_value = "mlx4")]
    pub(crate) format: SynthFormat,
    /// Tokens in the sequence before the measured work [default: 0, 256, 4096 and 16384 as far
    /// as the model goes].
    #[arg(long, value_delimiter = ',', value_name = "N")]
    pub(crate) depths: Vec<usize>,
    /// Tokens to decode.
    #[arg(short = 'n', long, default_value_t = 64, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) tokens: u32,
    /// Tokens of the prompt that prefill reads.
    #[arg(short, long, default_value_t = 512, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) prompt_tokens: u32,
    /// Repeats of each figure; slow ones stop at 3.
    #[arg(short, long, default_value_t = 5, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) repeats: u32,
    /// Measure only these.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND")]
    pub(crate) only: Vec<Kind>,
    /// Take this bandwidth (GB/s) for the ceiling instead of measuring it.
    #[arg(long, value_name = "GB/S", value_parser = positive)]
    pub(crate) bandwidth: Option<f64>,
    /// Decode for so long (30s, 10m, 1h) at the first depth and watch the speed.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) sustained: Option<f64>,
    /// Compare with another build: A B B A ..., each run a fresh process.
    #[arg(long, value_name = "BINARY", conflicts_with_all = ["sustained", "record"])]
    pub(crate) ab: Option<PathBuf>,
    /// Pairs of runs for --ab.
    #[arg(long, default_value_t = 6, value_name = "N",
          value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) pairs: u32,
    /// Compare two results instead of measuring.
    #[arg(long, num_args = 2, value_names = ["A.json", "B.json"])]
    pub(crate) compare: Vec<PathBuf>,
    /// Draw speed against depth (or time) with the ceiling.
    #[arg(long, value_name = "OUT.svg")]
    pub(crate) plot: Option<PathBuf>,
    /// Draw these results with --plot instead of measuring.
    #[arg(long, num_args = 1.., value_name = "FILE.json", requires = "plot")]
    pub(crate) from: Vec<PathBuf>,
    /// Keep the result as DIR/DATE-DEVICE-MODEL.json.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "bench/results")]
    pub(crate) record: Option<PathBuf>,
    /// The commit to record [default: what this binary was built from].
    #[arg(long, value_name = "ID")]
    pub(crate) commit: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Only say when the first token is there: what the start-up time is measured with.
    #[arg(long, hide = true)]
    pub(crate) first_token: bool,
    /// Only run the correctness check: what a measurement of another model begins with.
    #[arg(long, hide = true)]
    pub(crate) check: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("10m"), Ok(600.0));
        assert_eq!(duration("1.5h"), Ok(5400.0));
        assert_eq!((duration("30s"), duration("30")), (Ok(30.0), Ok(30.0)));
        for bad in ["", "m", "-1s", "tenm", "0", "10µ"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
