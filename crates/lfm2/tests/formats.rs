//! One model stored in every format: the same weights come back, and the same logits.

mod common;

use std::path::{Path, PathBuf};

use lfm2::quant::{FloatType, KQuant, WeightData, Zero};
use lfm2::reference::Reference;
use lfm2::synth::{Recipe, Synthetic};
use lfm2::write::{Extras, Stored, Target, Values, WriteOptions, write_model};
use lfm2::{Config, TensorId, Tokenizer};

fn place(dir: &Path, name: &str, target: &Target) -> PathBuf {
    match target {
        Target::Gguf(_) => dir.join(format!("{name}.gguf")),
        _ => dir.join(name),
    }
}

fn write(path: &Path, c: &Config, target: &Target, values: &dyn Values) {
    let options = WriteOptions {
        threads: 2,
        ..WriteOptions::default()
    };
    write_model(path, c, target, values, &Extras::default(), options).unwrap();
}

fn bare(c: &Config) -> Config {
    Config {
        quantization: None,
        ..c.clone()
    }
}

#[test]
fn a_synthetic_model_is_the_same_to_the_last_bit_in_every_format() {
    for (kind, c) in [("dense", common::dense()), ("moe", common::moe())] {
        let dir = tempfile::tempdir().unwrap();
        let values = Synthetic::new(&c, Recipe::default());
        let mut logits: Option<Vec<f32>> = None;
        for (name, target) in common::targets(&c) {
            let path = place(dir.path(), &name, &target);
            write(&path, &c, &target, &values);
            let opened = lfm2::open(&path).unwrap();
            let source = opened.weights();
            assert_eq!(bare(source.config()), c, "{kind} {name}");
            for id in TensorId::all(&c) {
                let t = source.checked(id).unwrap();
                let [rows, cols] = id.shape(&c);
                assert_eq!([t.rows, t.cols], [rows, cols]);
                let mut want = vec![0.0; rows * cols];
                values.rows(id, 0..rows, &mut want).unwrap();
                assert!(
                    t.to_f32() == want,
                    "{kind} {name} {id:?} as {}",
                    t.type_name()
                );
                assert_eq!(
                    t.stored_bytes(),
                    target.storage(&c, id).row_bytes(cols).iter().sum::<usize>() * rows
                );
            }
            let r = Reference::new(source).unwrap();
            let tokens: Vec<u32> = (0..24).map(|i| i * 53 % 512).collect();
            let got = r.forward(&mut r.state(), &tokens).unwrap();
            assert!(got.iter().all(|v| v.is_finite()));
            match &logits {
                None => logits = Some(got),
                Some(want) => assert!(*want == got, "{kind} {name}: logits differ"),
            }
        }
    }
}

/// Largest error of one stored weight, as a share of the largest magnitude in its group.
fn precision(t: &lfm2::quant::WeightTensor<'_>) -> (usize, f32) {
    match t.data {
        WeightData::Float(FloatType::F32, _) => (1, 0.0),
        WeightData::Float(FloatType::F16, _) => (1, 1.0 / 2048.0),
        WeightData::Float(FloatType::Bf16, _) => (1, 1.0 / 256.0),
        // A step is 1/15 (1/255) of at most twice the magnitude. Inside it is half a step; the edge that
        // gets no code of its own may be clipped by nearly a whole one. And 16-bit scales round.
        WeightData::Quant(q) if matches!(q.zero, Zero::Stored(_)) => {
            let steps = f32::from((1_u16 << q.bits) - 1);
            (q.group, 2.0 / steps + 0.012)
        }
        WeightData::Quant(q) if q.bits == 4 => (32, 1.0 / 8.0 + 0.001),
        WeightData::Quant(_) => (32, 0.5 / 127.0 + 0.001),
        WeightData::K(KQuant::Q4K, _) => (256, 0.12),
        WeightData::K(KQuant::Q5K, _) => (256, 0.06),
        WeightData::K(KQuant::Q6K, _) => (256, 0.035),
    }
}

/// Weights that fit no format exactly.
struct Smooth<'a>(&'a Config);

impl Values for Smooth<'_> {
    fn rows(
        &self,
        id: TensorId,
        rows: std::ops::Range<usize>,
        out: &mut [f32],
    ) -> lfm2::Result<()> {
        let cols = id.shape(self.0)[1];
        let first = rows.start * cols;
        for (i, o) in out.iter_mut().enumerate() {
            let x = (first + i) as f32;
            *o = (x * 0.7311).sin() * (0.05 + 0.04 * (x * 0.0137).cos())
                + if id.is_vector() { 1.0 } else { 0.0 };
        }
        Ok(())
    }
}

#[test]
fn quantised_formats_keep_weights_within_their_precision() {
    for c in [common::dense(), common::moe()] {
        let dir = tempfile::tempdir().unwrap();
        for (name, target) in common::targets(&c) {
            let path = place(dir.path(), &name, &target);
            write(&path, &c, &target, &Smooth(&c));
            let opened = lfm2::open(&path).unwrap();
            for id in TensorId::all(&c) {
                let t = opened.weights().tensor(id).unwrap();
                let [rows, cols] = id.shape(&c);
                let mut want = vec![0.0; rows * cols];
                Smooth(&c).rows(id, 0..rows, &mut want).unwrap();
                let (group, bound) = precision(&t);
                for (got, want) in t.to_f32().chunks(group).zip(want.chunks(group)) {
                    let top = want.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
                    for (g, w) in got.iter().zip(want) {
                        assert!(
                            (g - w).abs() <= bound * top + 1e-7,
                            "{name} {id:?} as {}: {g} for {w}",
                            t.type_name()
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn conversion_from_an_opened_model_keeps_what_the_target_can_hold() {
    let c = common::moe();
    let dir = tempfile::tempdir().unwrap();
    let first = dir.path().join("a");
    write(
        &first,
        &c,
        &Target::mlx(&c, 4, 64),
        &Synthetic::new(&c, Recipe::default()),
    );
    let opened = lfm2::open(&first).unwrap();
    let float = FloatType::Bf16;
    let second = dir.path().join("b");
    let target = Target::HuggingFace {
        float,
        shard_bytes: None,
    };
    write(
        &second,
        opened.weights().config(),
        &target,
        &Stored(opened.weights()),
    );
    let again = lfm2::open(&second).unwrap();
    assert_eq!(*again.weights().config(), c);
    for id in TensorId::all(&c) {
        let [a, b] = [&opened, &again].map(|o| o.weights().tensor(id).unwrap().to_f32());
        assert!(a == b, "{id:?}");
    }
}

#[test]
fn every_weight_file_of_a_synthetic_directory_is_complete() {
    let c = common::moe();
    let dir = tempfile::tempdir().unwrap();
    for (name, target) in [
        ("mlx", Target::mlx(&c, 4, 64)),
        ("k.gguf", Target::Gguf(lfm2::write::Mix::Q4KM)),
    ] {
        let path = dir.path().join(name);
        let recipe = Recipe::default();
        let written =
            lfm2::synth::write(&path, &c, &target, recipe, "tiny", WriteOptions::default())
                .unwrap();
        let opened = lfm2::open(&path).unwrap();
        let tokenizer = match &opened {
            lfm2::Opened::Safetensors(_) => Tokenizer::from_dir(&path).unwrap(),
            lfm2::Opened::Gguf(g) => Tokenizer::from_gguf(g.metadata()).unwrap(),
        };
        assert_eq!(tokenizer.vocab_size(), c.vocab_size);
        assert_eq!(tokenizer.bos(), Some(c.bos_token));
        assert_eq!(tokenizer.eos(), Some(c.eos_token));
        assert_eq!(tokenizer.special_ids().im_start, Some(6));
        let text = "naïve bytes, 12 of them\n";
        let ids = tokenizer
            .encode(text, lfm2::tokenizer::Specials::Forbid)
            .unwrap();
        assert_eq!(tokenizer.decode(&ids), text);
        let stored: u64 = opened.weights().entries().iter().map(|e| e.bytes).sum();
        assert!(written.bytes >= stored && written.bytes < stored + (1 << 20));
        let left: Vec<_> = std::fs::read_dir(dir.path())
            .unwrap()
            .chain(std::fs::read_dir(dir.path().join("mlx")).unwrap())
            .filter(|e| {
                e.as_ref()
                    .unwrap()
                    .path()
                    .extension()
                    .is_some_and(|e| e == "part")
            })
            .collect();
        assert!(left.is_empty());
        // A second model does not overwrite the first.
        let error = lfm2::synth::write(&path, &c, &target, recipe, "tiny", WriteOptions::default());
        assert!(error.unwrap_err().to_string().contains("already"));
    }
}

#[test]
fn a_stopped_write_leaves_nothing_behind() {
    let c = common::dense();
    let dir = tempfile::tempdir().unwrap();
    let options = WriteOptions {
        progress: &|_, _| false,
        ..WriteOptions::default()
    };
    let target = Target::mlx(&c, 4, 64);
    let path = dir.path().join("m");
    let e = lfm2::synth::write(&path, &c, &target, Recipe::default(), "tiny", options);
    assert_eq!(e.unwrap_err().to_string(), "stopped; nothing was written");
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
}

#[test]
fn a_failing_source_leaves_nothing_behind() {
    struct Broken;
    impl Values for Broken {
        fn rows(&self, id: TensorId, _: std::ops::Range<usize>, _: &mut [f32]) -> lfm2::Result<()> {
            Err(lfm2::Error::Input(format!("no {id:?}")))
        }
    }
    let c = common::dense();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m");
    let target = Target::mlx(&c, 4, 64);
    let e = write_model(
        &path,
        &c,
        &target,
        &Broken,
        &Extras::default(),
        WriteOptions::default(),
    );
    assert!(e.unwrap_err().to_string().starts_with("no "));
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
}

#[test]
fn presets_have_the_sizes_of_the_published_files() {
    let bytes = |name: &str, target: &dyn Fn(&Config) -> Target| -> u64 {
        let c = lfm2::family::preset(name).unwrap();
        let target = target(&c);
        TensorId::walk(&c)
            .map(|id| {
                let [rows, cols] = id.shape(&c);
                (target.storage(&c, id).row_bytes(cols).iter().sum::<usize>() * rows) as u64
            })
            .sum()
    };
    let gguf = |mix| move |_: &Config| Target::Gguf(mix);
    use lfm2::write::Mix;
    assert_eq!(bytes("lfm2-24b-a2b", &gguf(Mix::Q4KM)), 14_413_068_800);
    let gb = |n: u64| (n as f64 / 1e7).round() / 100.0;
    assert_eq!(gb(bytes("lfm2-24b-a2b", &gguf(Mix::Q4_0))), 13.47);
    assert_eq!(gb(bytes("lfm2-24b-a2b", &gguf(Mix::Q5KM))), 16.92);
    assert_eq!(gb(bytes("lfm2-24b-a2b", &gguf(Mix::Q6K))), 19.58);
    assert_eq!(gb(bytes("lfm2-24b-a2b", &gguf(Mix::Q8_0))), 25.35);
    assert_eq!(gb(bytes("lfm2-24b-a2b", &gguf(Mix::F16))), 47.70);
    assert_eq!(gb(bytes("lfm2-24b-a2b", &|c| Target::mlx(c, 4, 64))), 13.42);
    assert_eq!(
        gb(bytes("lfm2.5-24b-a2b", &|c| Target::mlx(c, 4, 64))),
        13.49
    );
}
