//! What the kernels reach alone: `cargo bench -p cpu [-- THREADS]`.
//!
//! Matrix times vector over 1 GiB of weights, in GB/s of packed bytes, beside plain reading;
//! matrix times 512 tokens in GOP/s (a multiply or an add is one). Median of nine passes.

use std::hint::black_box;
use std::time::Instant;

use cpu::Isa;
use cpu::kernels::dot::{TILE, Tile, tile};
use cpu::kernels::gemm::{self, Panels, Scratch};
use cpu::kernels::quantise::{Acts, quantise};
use cpu::pack::{Bytes, Scales, TileFormat};
use cpu::team::Team;
use lfm2::quant::FloatType;

const COLS: usize = 2048;
const TOKENS: usize = 512;

fn formats() -> Vec<(&'static str, TileFormat)> {
    let plain = |bits, group, float, stored_zero, implied_zero| TileFormat {
        bits,
        group,
        scales: Scales::Plain { float, stored_zero },
        implied_zero,
    };
    let k = |bits, group, min, implied_zero| TileFormat {
        bits,
        group,
        scales: Scales::Super { min },
        implied_zero,
    };
    vec![
        ("Q4_0", plain(4, 32, FloatType::F16, false, -8)),
        ("MLX 4", plain(4, 64, FloatType::Bf16, true, 0)),
        ("Q4_K", k(4, 32, true, 0)),
        ("Q6_K", k(6, 16, false, -32)),
        ("Q8_0", plain(8, 32, FloatType::F16, false, -128)),
        ("MLX 8", plain(8, 64, FloatType::Bf16, true, 0)),
    ]
}

/// Median seconds of nine passes after one that is not counted.
fn timed(mut f: impl FnMut()) -> f64 {
    f();
    let passes: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64()
        })
        .collect();
    cpu::probe::median(&passes)
}

fn main() {
    let threads = std::env::args()
        .find_map(|a| a.parse().ok())
        .unwrap_or_else(|| cpu::team::allowed_processors().len());
    let team = Team::new(threads);
    let mut bytes = Bytes::zeroed(1 << 30);
    // Small scales (0x1c1c is about 0.004 in f16) and mixed codes.
    team.for_chunks(bytes.as_mut_slice(), 4096, |i, c| {
        for (j, b) in c.iter_mut().enumerate() {
            *b = (((i * 31 + j) * 2_654_435_761) >> 13) as u8 & 0x1f;
        }
    });
    let x: Vec<f32> = (0..COLS * TOKENS)
        .map(|i| ((i * 7919 % 2003) as f32 - 1000.0) / 500.0)
        .collect();
    let isa = Isa::detect();
    let read = cpu::probe::Memory::with_bytes(1 << 30)
        .read(isa, threads, 9)
        .median();
    let peak = cpu::probe::integer_peak(isa, threads, 9).median();
    println!(
        "{threads} threads; {}: reading {read:.1} GB/s, integer peak {peak:.0} GOP/s",
        isa.name()
    );
    println!(
        "{:<8}{:<14}{:>10}{:>10}{:>12}{:>12}",
        "format", "path", "GB/s 15", "GB/s 7", "GOP/s 15", "GOP/s 7"
    );
    for (name, f) in formats() {
        for isa in Isa::available() {
            let mut row = format!("{name:<8}{:<14}", isa.name());
            let size = f.tile_bytes(COLS);
            let n = bytes.as_slice().len() / size;
            for two in [true, false] {
                let mut acts = Acts::default();
                acts.resize(1, COLS, two);
                quantise(isa, &x[..COLS], &mut acts.row_mut(0));
                // The slower paths need not read it all.
                let n = if isa == Isa::Scalar { n / 64 } else { n };
                let t = timed(|| {
                    team.for_ranges(n, |r| {
                        let at = |i: usize| &bytes.as_slice()[i * size..][..size];
                        let mut out = [[0.0; TILE]];
                        for i in r.clone() {
                            let t = Tile {
                                format: f,
                                cols: COLS,
                                bytes: at(i),
                                next: (i + 1 < r.end).then(|| at(i + 1)),
                            };
                            tile(isa, t, &[acts.row(0)], &mut out);
                            black_box(&out);
                        }
                    });
                });
                row += &format!("{:>10.1}", (n * size) as f64 / t / 1e9);
            }
            for two in [true, false] {
                let mut acts = Acts::default();
                acts.resize(TOKENS, COLS, two);
                for (mut a, x) in acts.rows_mut().zip(x.chunks_exact(COLS)) {
                    quantise(isa, x, &mut a);
                }
                let mut panels = Panels::default();
                panels.fill(|r| acts.row(r), TOKENS, COLS, f.group);
                let all: Vec<_> = (0..TOKENS).map(|r| acts.row(r)).collect();
                let n = if gemm::exists(isa) { 256 } else { 8 };
                let t = timed(|| {
                    team.for_ranges(n / 2, |r| {
                        let at = |i: usize| &bytes.as_slice()[i * size..][..size];
                        let mut scratch = Scratch::default();
                        let mut out = vec![[0.0; TILE]; TOKENS];
                        for i in r {
                            if gemm::exists(isa) {
                                let pair = [at(2 * i), at(2 * i + 1)];
                                gemm::tiles(isa, &f, &pair, &panels, &mut scratch);
                                black_box(&scratch);
                            } else {
                                for i in [2 * i, 2 * i + 1] {
                                    let t = Tile {
                                        format: f,
                                        cols: COLS,
                                        bytes: at(i),
                                        next: None,
                                    };
                                    tile(isa, t, &all, &mut out);
                                    black_box(&out);
                                }
                            }
                        }
                    });
                });
                let ops = 2.0 * (n * TILE * COLS * TOKENS) as f64;
                row += &format!("{:>12.0}", ops / t / 1e9);
            }
            println!("{row}");
        }
    }
}
