//! Damaged, cut, forged and mistaken weight files: one line that names the place, never a panic.

mod common;

use std::path::Path;

use lfm2::quant::FloatType;
use lfm2::synth::{Recipe, Synthetic};
use lfm2::write::{Extras, Mix, Target, WriteOptions, write_model};
use lfm2::{
    Config, LayerKind, Opened, TensorId, WeightSource, open_gguf_bytes, open_safetensors_bytes,
};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

/// So small that a file can be cut at every byte.
fn tiny() -> Config {
    Config {
        vocab_size: 8,
        hidden_size: 32,
        layers: vec![LayerKind::Conv, LayerKind::Attention],
        heads: 2,
        kv_heads: 1,
        head_dim: 16,
        ffn_size: 32,
        pad_token: 0,
        moe: Some(lfm2::MoeConfig {
            dense_layers: 1,
            experts: 2,
            experts_per_token: 1,
            width: 32,
            use_expert_bias: true,
            norm_topk_prob: true,
            routed_scaling_factor: 1.0,
        }),
        ..common::dense()
    }
}

fn written(target: &Target) -> (Vec<u8>, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let c = tiny();
    let gguf = matches!(target, Target::Gguf(_));
    let path = dir.path().join(if gguf { "m.gguf" } else { "m" });
    let values = Synthetic::new(&c, Recipe::default());
    write_model(
        &path,
        &c,
        target,
        &values,
        &Extras::default(),
        WriteOptions::default(),
    )
    .unwrap();
    if gguf {
        (Vec::new(), std::fs::read(path).unwrap())
    } else {
        (
            std::fs::read(path.join("config.json")).unwrap(),
            std::fs::read(path.join("model.safetensors")).unwrap(),
        )
    }
}

fn hf() -> (Vec<u8>, Vec<u8>) {
    let float = FloatType::Bf16;
    written(&Target::HuggingFace {
        float,
        shard_bytes: None,
    })
}

fn mlx() -> (Vec<u8>, Vec<u8>) {
    written(&Target::mlx(&tiny(), 4, 32))
}

fn gguf() -> Vec<u8> {
    written(&Target::Gguf(Mix::Q8_0)).1
}

/// Reads everything an opened model offers.
fn touch(source: &dyn WeightSource) {
    for id in TensorId::all(source.config()) {
        if let Ok(t) = source.checked(id) {
            assert_eq!(t.to_f32().len(), t.rows * t.cols);
        }
    }
    source.entries();
}

fn one_line(e: &lfm2::Error) -> String {
    let text = e.to_string();
    assert!(!text.contains('\n'), "{text}");
    assert!(text.len() < 600, "{text}");
    text
}

#[track_caller]
fn expect_error<T: std::fmt::Debug>(result: lfm2::Result<T>, parts: &[&str]) {
    let text = one_line(&result.unwrap_err());
    for part in parts {
        assert!(text.contains(part), "{text:?} lacks {part:?}");
    }
}

#[test]
fn safetensors_cut_at_every_byte() {
    for (config, weights) in [hf(), mlx()] {
        touch(&open_safetensors_bytes("m", &config, &weights).unwrap());
        for n in 0..weights.len() {
            let e = open_safetensors_bytes("m", &config, &weights[..n]).unwrap_err();
            one_line(&e);
        }
        for n in 0..config.len() - 2 {
            one_line(&open_safetensors_bytes("m", &config[..n], &weights).unwrap_err());
        }
    }
}

#[test]
fn gguf_cut_at_every_byte() {
    for mix in [Mix::Q8_0, Mix::F32] {
        let bytes = written(&Target::Gguf(mix)).1;
        let whole = open_gguf_bytes("m.gguf", &bytes).unwrap();
        touch(&whole);
        let end = whole
            .entries()
            .iter()
            .map(|e| e.offset + e.bytes)
            .max()
            .unwrap() as usize;
        for n in 0..end {
            one_line(&open_gguf_bytes("m.gguf", &bytes[..n]).unwrap_err());
        }
    }
}

#[test]
fn files_cut_on_disk_say_so() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("m.gguf");
    let bytes = gguf();
    std::fs::write(&file, &bytes[..bytes.len() - 100]).unwrap();
    expect_error(lfm2::open(&file), &["m.gguf", "cut short"]);
    std::fs::write(&file, b"").unwrap();
    expect_error(lfm2::open(&file), &["m.gguf", "empty"]);
    std::fs::write(&file, b"\xff\xd8\xff\xe0\0\x10JFIF").unwrap();
    expect_error(lfm2::open(&file), &["not a GGUF file", "ff d8 ff e0"]);
}

#[test]
fn directories_that_hold_no_model_say_what_they_lack() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let (config, weights) = hf();
    expect_error(lfm2::open(d), &["no model directory"]);
    expect_error(lfm2::open(&d.join("nowhere")), &["nowhere", "cannot open"]);
    std::fs::write(d.join("model.safetensors"), &weights).unwrap();
    expect_error(lfm2::open(d), &["no config.json"]);
    expect_error(lfm2::open(&d.join("model.safetensors")), &["directory"]);
    std::fs::remove_file(d.join("model.safetensors")).unwrap();
    std::fs::write(d.join("config.json"), &config).unwrap();
    expect_error(lfm2::open(d), &["neither model.safetensors"]);
    // A lone GGUF beside a config.json is the model; two are a question.
    std::fs::write(d.join("a.gguf"), gguf()).unwrap();
    assert!(matches!(lfm2::open(d).unwrap(), Opened::Gguf(_)));
    std::fs::write(d.join("b.gguf"), gguf()).unwrap();
    expect_error(lfm2::open(d), &["2 .gguf files", "a.gguf"]);
    std::fs::write(d.join("model.safetensors"), &weights).unwrap();
    assert!(matches!(lfm2::open(d).unwrap(), Opened::Safetensors(_)));
}

#[test]
fn an_index_names_only_files_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let (config, weights) = hf();
    std::fs::write(d.join("config.json"), config).unwrap();
    std::fs::write(d.join("one.safetensors"), &weights).unwrap();
    std::fs::write(d.join("two.safetensors"), &weights).unwrap();
    let index = |text: &str| std::fs::write(d.join("model.safetensors.index.json"), text).unwrap();
    for (text, parts) in [
        ("{", &["index.json", "not JSON"][..]),
        ("{}", &["weight_map"]),
        (r#"{"weight_map":{}}"#, &["names no files"]),
        (
            r#"{"weight_map":{"a":"../one.safetensors"}}"#,
            &["../one.safetensors", "file name"],
        ),
        (r#"{"weight_map":{"a":"/etc/passwd"}}"#, &["file name"]),
        (r#"{"weight_map":{"a":".."}}"#, &["file name"]),
        (r#"{"weight_map":{"a":7}}"#, &["file name"]),
        (
            r#"{"weight_map":{"a":"three.safetensors"}}"#,
            &["three.safetensors"],
        ),
        (
            r#"{"weight_map":{"a":"one.safetensors","b":"two.safetensors"}}"#,
            &["is also in", "one.safetensors"],
        ),
    ] {
        index(text);
        expect_error(lfm2::open(d), parts);
    }
    index(r#"{"weight_map":{"a":"one.safetensors"}}"#);
    touch(lfm2::open(d).unwrap().weights());
}

/// A safetensors file with its header changed.
fn with_header(weights: &[u8], change: impl FnOnce(&mut serde_json::Map<String, Json>)) -> Vec<u8> {
    let n = u64::from_le_bytes(weights[..8].try_into().unwrap()) as usize;
    let mut header: Json = serde_json::from_slice(&weights[8..8 + n]).unwrap();
    change(header.as_object_mut().unwrap());
    with_raw_header(weights, header.to_string().as_bytes())
}

fn with_raw_header(weights: &[u8], header: &[u8]) -> Vec<u8> {
    let n = u64::from_le_bytes(weights[..8].try_into().unwrap()) as usize;
    let mut out = (header.len() as u64).to_le_bytes().to_vec();
    out.extend(header);
    out.extend(&weights[8 + n..]);
    out
}

#[test]
fn safetensors_headers_that_lie() {
    let (config, weights) = hf();
    const NORM: &str = "model.layers.0.ffn_norm.weight";
    const KERNEL: &str = "model.layers.0.conv.conv.weight";
    type Change = Box<dyn Fn(&mut serde_json::Map<String, Json>)>;
    let cases: Vec<(Change, &[&str])> = vec![
        (
            Box::new(|h| {
                h.remove(NORM);
            }),
            &[NORM, "is missing:"],
        ),
        (
            Box::new(|h| {
                h.retain(|k, _| !k.contains("layers.1."));
            }),
            &[
                "model.layers.1.operator_norm.weight",
                "and 15 more are missing",
            ],
        ),
        (
            Box::new(|h| h[NORM]["dtype"] = json!("F8_E4M3")),
            &[NORM, "F8_E4M3", "supported"],
        ),
        (
            Box::new(|h| h[NORM]["dtype"] = json!("F32")),
            &[NORM, "128 bytes", "64 bytes of data"],
        ),
        (
            Box::new(|h| h[NORM]["shape"] = json!([4, 8])),
            &[NORM, "[4, 8]", "[32]"],
        ),
        (
            Box::new(|h| h[NORM]["shape"] = json!([u64::MAX, 2])),
            &[NORM, "absurd"],
        ),
        (Box::new(|h| h[NORM]["shape"] = json!([-32])), &["header"]),
        (
            Box::new(|h| h[KERNEL]["shape"] = json!([3, 32, 1])),
            &[KERNEL, "[3, 32, 1]", "[32, 1, 3]"],
        ),
        (
            Box::new(|h| h[NORM]["data_offsets"] = json!([64, 0])),
            &[NORM, "64 to 0"],
        ),
        (
            Box::new(|h| h[NORM]["data_offsets"] = json!([0, u64::MAX])),
            &[NORM, "cut short"],
        ),
        (
            Box::new(|h| h[NORM]["data_offsets"] = json!([0, 64])),
            &["overlaps", NORM],
        ),
        (Box::new(|h| h[NORM] = json!(7)), &["header"]),
    ];
    for (change, parts) in cases {
        let bytes = with_header(&weights, change);
        expect_error(open_safetensors_bytes("m", &config, &bytes), parts);
    }
    let mut raw = weights.clone();
    raw[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    expect_error(
        open_safetensors_bytes("m", &config, &raw),
        &["claims 18446744073709551615"],
    );
    let twice = format!(
        r#"{{"{NORM}":{{"dtype":"BF16","shape":[0],"data_offsets":[0,0]}},"{NORM}":{{"dtype":"BF16","shape":[0],"data_offsets":[0,0]}}}}"#
    );
    let bytes = with_raw_header(&weights, twice.as_bytes());
    expect_error(
        open_safetensors_bytes("m", &config, &bytes),
        &[NORM, "twice"],
    );
    let bytes = with_raw_header(&weights, b"{\"a\xff\":1}");
    expect_error(
        open_safetensors_bytes("m", &config, &bytes),
        &["not UTF-8", "at byte 11"],
    );
    let deep = [&b"{\"a\":"[..], &b"[".repeat(100_000)].concat();
    expect_error(
        open_safetensors_bytes("m", &config, &with_raw_header(&weights, &deep)),
        &["header"],
    );
    expect_error(
        open_safetensors_bytes("m", &config, &gguf()),
        &["is a GGUF file"],
    );
}

#[test]
fn mlx_rules_that_do_not_fit() {
    let (config, weights) = mlx();
    let with = |change: &dyn Fn(&mut Json)| {
        let mut c: Json = serde_json::from_slice(&config).unwrap();
        change(&mut c["quantization"]);
        serde_json::to_vec(&c).unwrap()
    };
    let key = "model.layers.0.conv.in_proj";
    for (config, parts) in [
        (
            with(&|q| q["bits"] = json!(8)),
            &["model.embed_tokens.weight", "[8, 4]", "[8, 8]"][..],
        ),
        (with(&|q| q["bits"] = json!(3)), &["bits", "4 or 8"]),
        (
            with(&|q| q["group_size"] = json!(64)),
            &["no multiple of its group of 64"],
        ),
        (with(&|q| q["mode"] = json!("mxfp4")), &["mode", "mxfp4"]),
        (
            with(&|q| q[key] = json!({"bits": 4, "group_size": 32, "mode": "nvfp4"})),
            &[key, "nvfp4"],
        ),
        (with(&|q| q[key] = json!(false)), &[key, "no quantization"]),
    ] {
        expect_error(open_safetensors_bytes("m", &config, &weights), parts);
    }
    let scales = "model.layers.0.conv.in_proj.scales";
    let without = with_header(&weights, |h| {
        h.remove(scales);
    });
    expect_error(
        open_safetensors_bytes("m", &config, &without),
        &[scales, "missing"],
    );
}

#[test]
fn a_small_config_cannot_ask_for_much_memory_or_time() {
    let (config, weights) = hf();
    let mut c: Json = serde_json::from_slice(&config).unwrap();
    c["num_hidden_layers"] = json!(1024);
    c["layer_types"] = json!(vec!["conv"; 1024]);
    c["num_experts"] = json!(4096);
    let config = serde_json::to_vec(&c).unwrap();
    let started = std::time::Instant::now();
    assert!(open_safetensors_bytes("m", &config, &weights).is_err());
    assert!(started.elapsed().as_secs() < 5);
}

#[test]
fn a_nan_scale_is_named_with_its_offset() {
    let (config, mut weights) = mlx();
    let name = "model.layers.1.feed_forward.switch_mlp.up_proj.scales";
    let source = open_safetensors_bytes("m", &config, &weights).unwrap();
    let entry = source
        .entries()
        .into_iter()
        .find(|e| e.name == name)
        .unwrap();
    // Expert 1, row 5 (one group a row).
    let at = entry.offset as usize + 2 * (32 + 5);
    weights[at..at + 2].copy_from_slice(&[0xc0, 0x7f]);
    let source = open_safetensors_bytes("m", &config, &weights).unwrap();
    let id = TensorId::Layer(1, lfm2::LayerTensor::Expert(lfm2::FfnPart::Up, 1));
    assert!(source.tensor(id).is_ok());
    expect_error(source.checked(id), &[name, "scale", &format!("byte {at}")]);

    let mut bytes = gguf();
    let name = "blk.1.ffn_up_exps.weight";
    let source = open_gguf_bytes("m.gguf", &bytes).unwrap();
    let entry = source
        .entries()
        .into_iter()
        .find(|e| e.name == name)
        .unwrap();
    let at = entry.offset as usize + 34 * (32 + 5);
    bytes[at..at + 2].copy_from_slice(&[0x00, 0x7c]);
    let source = open_gguf_bytes("m.gguf", &bytes).unwrap();
    expect_error(source.checked(id), &[name, "scale", &format!("byte {at}")]);
}

/// A GGUF file made by hand, apart from our writer.
struct Forge {
    version: u32,
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
    tensors: Vec<(Vec<u8>, Vec<u64>, u32, u64)>,
    data: usize,
}

fn string(s: &[u8]) -> Vec<u8> {
    [&(s.len() as u64).to_le_bytes(), s].concat()
}

impl Forge {
    fn new() -> Self {
        Self {
            version: 3,
            pairs: Vec::new(),
            tensors: vec![
                (b"a".to_vec(), vec![32, 2], 8, 0),
                (b"b".to_vec(), vec![8], 0, 96),
            ],
            data: 128,
        }
    }

    fn pair(mut self, key: &[u8], ty: u32, value: &[u8]) -> Self {
        self.pairs
            .push((key.to_vec(), [&ty.to_le_bytes(), value].concat()));
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut b = b"GGUF".to_vec();
        b.extend(self.version.to_le_bytes());
        b.extend((self.tensors.len() as u64).to_le_bytes());
        b.extend((self.pairs.len() as u64).to_le_bytes());
        for (key, value) in &self.pairs {
            b.extend(string(key));
            b.extend(value);
        }
        for (name, dims, ty, offset) in &self.tensors {
            b.extend(string(name));
            b.extend((dims.len() as u32).to_le_bytes());
            dims.iter().for_each(|d| b.extend(d.to_le_bytes()));
            b.extend(ty.to_le_bytes());
            b.extend(offset.to_le_bytes());
        }
        b.resize(b.len().next_multiple_of(32) + self.data, 0);
        b
    }

    fn parse(&self) -> lfm2::Result<lfm2::gguf::Parsed> {
        lfm2::gguf::parse(Path::new("f.gguf"), &self.bytes())
    }
}

#[test]
fn gguf_value_types_are_all_read() {
    use lfm2::gguf::Value;
    let list = |element: u32, n: u64, bytes: &[u8]| {
        [&element.to_le_bytes()[..], &n.to_le_bytes(), bytes].concat()
    };
    let f = Forge::new()
        .pair(b"u8", 0, &[200])
        .pair(b"i8", 1, &[0xff])
        .pair(b"u16", 2, &[1, 2])
        .pair(b"i16", 3, &[0xfe, 0xff])
        .pair(b"u32", 4, &7_u32.to_le_bytes())
        .pair(b"i32", 5, &(-7_i32).to_le_bytes())
        .pair(b"f32", 6, &1.5_f32.to_le_bytes())
        .pair(b"bool", 7, &[1])
        .pair(b"string", 8, &string("é".as_bytes()))
        .pair(b"u64", 10, &u64::MAX.to_le_bytes())
        .pair(b"i64", 11, &i64::MIN.to_le_bytes())
        .pair(b"f64", 12, &0.1_f64.to_le_bytes())
        .pair(b"bytes", 9, &list(0, 3, &[1, 2, 3]))
        .pair(b"bools", 9, &list(7, 2, &[1, 0]))
        .pair(b"floats", 9, &list(6, 1, &2.5_f32.to_le_bytes()))
        .pair(
            b"strings",
            9,
            &list(8, 2, &[string(b"x"), string(b"")].concat()),
        )
        .pair(b"none", 9, &list(8, 0, &[]));
    let m = f.parse().unwrap().metadata;
    let get = |k: &str| m.get(k).unwrap().clone();
    assert_eq!(get("u8"), Value::Unsigned(200));
    assert_eq!(get("i8"), Value::Signed(-1));
    assert_eq!(get("u16"), Value::Unsigned(513));
    assert_eq!(get("i16"), Value::Signed(-2));
    assert_eq!(get("u32"), Value::Unsigned(7));
    assert_eq!(get("i32"), Value::Signed(-7));
    assert_eq!(get("f32"), Value::Float(1.5));
    assert_eq!(get("bool"), Value::Bool(true));
    assert_eq!(get("string"), Value::String("é".into()));
    assert_eq!(get("u64"), Value::Unsigned(u64::MAX));
    assert_eq!(get("i64"), Value::Signed(i64::MIN));
    assert_eq!(get("f64"), Value::Float(0.1));
    assert_eq!(get("bytes"), Value::Integers(vec![1, 2, 3]));
    assert_eq!(get("bools"), Value::Integers(vec![1, 0]));
    assert_eq!(get("floats"), Value::Floats(vec![2.5]));
    assert_eq!(
        get("strings"),
        Value::Strings(vec!["x".into(), String::new()])
    );
    assert_eq!(get("none"), Value::Strings(vec![]));
    let whole = f.bytes();
    for n in 0..whole.len() - 32 {
        one_line(&lfm2::gguf::parse(Path::new("f.gguf"), &whole[..n]).unwrap_err());
    }
}

#[test]
fn gguf_headers_that_lie() {
    assert!(Forge::new().parse().is_ok());
    let u64s = |v: u64| v.to_le_bytes().to_vec();
    let huge = |element: u32, n: u64| [&element.to_le_bytes()[..], &n.to_le_bytes()].concat();
    type Change = Box<dyn Fn(Forge) -> Forge>;
    let cases: Vec<(Change, &[&str])> = vec![
        (
            Box::new(|f| Forge { version: 1, ..f }),
            &["version 1", "version 3"],
        ),
        (Box::new(|f| Forge { version: 2, ..f }), &["version 2"]),
        (Box::new(|f| Forge { version: 0, ..f }), &["version 0"]),
        (
            Box::new(|f| Forge {
                version: 3_u32.swap_bytes(),
                ..f
            }),
            &["big-endian"],
        ),
        (
            Box::new(|f| f.pair(b"k", 13, &[])),
            &["unknown value type 13"],
        ),
        (
            Box::new(|f| f.pair(b"k", 7, &[1]).pair(b"k", 7, &[1])),
            &["k occurs twice"],
        ),
        (
            Box::new(|f| f.pair(b"k\xff", 7, &[1])),
            &["key is not UTF-8"],
        ),
        (
            Box::new(|f| f.pair(b"k", 8, &string(b"\x80"))),
            &["value of k is not UTF-8"],
        ),
        (
            Box::new(move |f| f.pair(b"k", 8, &u64s(u64::MAX))),
            &["length of the value of k", "18446744073709551615"],
        ),
        (
            Box::new(move |f| f.pair(b"k", 9, &huge(0, u64::MAX))),
            &["length of k"],
        ),
        (
            Box::new(move |f| f.pair(b"k", 9, &huge(10, 1 << 61))),
            &["length of k"],
        ),
        (
            Box::new(move |f| f.pair(b"k", 9, &huge(9, 1))),
            &["array of arrays"],
        ),
        (
            Box::new(move |f| f.pair(b"k", 9, &huge(44, 1))),
            &["unknown element type 44"],
        ),
        (
            Box::new(|f| f.pair(b"general.alignment", 4, &0_u32.to_le_bytes())),
            &["alignment is 0"],
        ),
        (
            Box::new(|f| f.pair(b"general.alignment", 4, &24_u32.to_le_bytes())),
            &["alignment is 24"],
        ),
        (
            Box::new(|f| f.pair(b"general.alignment", 8, &string(b"x"))),
            &["general.alignment", "wrong type"],
        ),
        (
            Box::new(|mut f| {
                f.tensors[1].0 = b"a".to_vec();
                f
            }),
            &["tensor a", "listed twice"],
        ),
        (
            Box::new(|mut f| {
                f.tensors[1].0 = b"\xc3".to_vec();
                f
            }),
            &["name is not UTF-8"],
        ),
        (
            Box::new(|mut f| {
                f.tensors[0].1 = vec![];
                f
            }),
            &["tensor a", "0 dimensions"],
        ),
        (
            Box::new(|mut f| {
                f.tensors[0].1 = vec![1; 5];
                f
            }),
            &["5 dimensions"],
        ),
        (
            Box::new(|mut f| {
                f.tensors[0].1 = vec![u64::MAX, u64::MAX];
                f
            }),
            &["absurd shape"],
        ),
        (
            Box::new(|mut f| {
                f.tensors[0].1 = vec![0, 4];
                f
            }),
            &["absurd shape"],
        ),
        (
            Box::new(|mut f| {
                f.tensors[0].1 = vec![33, 2];
                f
            }),
            &["rows of 33", "multiples of 32"],
        ),
        (
            Box::new(|mut f| {
                f.tensors[0].2 = 10;
                f
            }),
            &["tensor a", "Q2_K", "not supported"],
        ),
        (
            Box::new(|mut f| {
                f.tensors[0].2 = 39;
                f
            }),
            &["MXFP4"],
        ),
        (
            Box::new(|mut f| {
                f.tensors[0].2 = 999;
                f
            }),
            &["number 999"],
        ),
        (
            Box::new(|mut f| {
                f.tensors[1].3 = 64;
                f
            }),
            &["tensor b", "overlaps a"],
        ),
        (
            Box::new(|mut f| {
                f.tensors[1].3 = 97;
                f
            }),
            &["offset 97", "alignment 32"],
        ),
        (
            Box::new(|mut f| {
                f.tensors[1].3 = 128;
                f
            }),
            &["tensor b", "cut short"],
        ),
        (
            Box::new(|mut f| {
                f.tensors[1].3 = u64::MAX - 31;
                f
            }),
            &["tensor b", "absurd offset"],
        ),
    ];
    for (change, parts) in cases {
        expect_error(change(Forge::new()).parse(), parts);
    }
    // Counts beyond what the file can hold.
    for (at, part) in [(8, "number of tensors"), (16, "number of metadata pairs")] {
        let mut b = Forge::new().bytes();
        b[at..at + 8].copy_from_slice(&(1_u64 << 60).to_le_bytes());
        expect_error(lfm2::gguf::parse(Path::new("f.gguf"), &b), &[part]);
    }
}

#[test]
fn gguf_tensors_that_do_not_fit_the_metadata() {
    let bytes = gguf();
    let replace = |from: &[u8], to: &[u8]| {
        let at = bytes.windows(from.len()).position(|w| w == from).unwrap();
        let mut b = bytes.clone();
        b[at..at + to.len()].copy_from_slice(to);
        b
    };
    let open = |b: Vec<u8>| open_gguf_bytes("m.gguf", &b);
    expect_error(
        open(replace(b"blk.1.attn_q_norm.weight", b"blk.7")),
        &["blk.1.attn_q_norm.weight", "missing"],
    );
    expect_error(
        open(replace(b"blk.1.ffn_up_exps.weight", b"blk.7")),
        &["blk.1.ffn_up_exps.weight", "is missing:"],
    );
    expect_error(
        open(replace(b"lfm2moe", b"llama2x")),
        &["general.architecture", "llama2x"],
    );
    let mut from = b"lfm2moe.expert_count".to_vec();
    from.extend(4_u32.to_le_bytes());
    let count = |n: u32| [&from[..], &n.to_le_bytes()].concat();
    expect_error(
        open(replace(&count(2), &count(3))),
        &["blk.1.ffn_gate_inp.weight", "[2, 32]", "[3, 32]"],
    );
    // A wrong feed_forward_length gives way to the tensors.
    let mut from = b"lfm2moe.feed_forward_length".to_vec();
    from.extend(4_u32.to_le_bytes());
    let length = |n: u32| [&from[..], &n.to_le_bytes()].concat();
    assert_eq!(
        open(replace(&length(32), &length(96)))
            .unwrap()
            .config()
            .ffn_size,
        32
    );
}

#[test]
fn fused_experts_are_read() {
    // transformers 5 in memory: gate and up rows in one tensor, experts stacked.
    let (config, weights) = hf();
    let plain = open_safetensors_bytes("m", &config, &weights).unwrap();
    let n = u64::from_le_bytes(weights[..8].try_into().unwrap()) as usize;
    let mut header: Json = serde_json::from_slice(&weights[8..8 + n]).unwrap();
    let h = header.as_object_mut().unwrap();
    h.retain(|k, _| !k.contains(".experts."));
    let mut data = weights[8 + n..].to_vec();
    let get = |part, e| {
        let id = TensorId::Layer(1, lfm2::LayerTensor::Expert(part, e));
        let mut b = Vec::new();
        FloatType::Bf16.put_all(&plain.tensor(id).unwrap().to_f32(), &mut b);
        b
    };
    use lfm2::FfnPart::{Down, Gate, Up};
    let mut add = |name: &str, shape: Json, bytes: Vec<u8>| {
        let start = data.len();
        data.extend(bytes);
        let offsets = json!([start, data.len()]);
        h.insert(
            format!("model.layers.1.feed_forward.experts.{name}"),
            json!({"dtype": "BF16", "shape": shape, "data_offsets": offsets}),
        );
    };
    let both = [get(Gate, 0), get(Up, 0), get(Gate, 1), get(Up, 1)].concat();
    add("gate_up_proj", json!([2, 64, 32]), both);
    add(
        "down_proj",
        json!([2, 32, 32]),
        [get(Down, 0), get(Down, 1)].concat(),
    );
    let text = header.to_string();
    let mut file = (text.len() as u64).to_le_bytes().to_vec();
    file.extend(text.as_bytes());
    file.extend(data);
    let fused = open_safetensors_bytes("m", &config, &file).unwrap();
    for id in TensorId::all(plain.config()) {
        assert!(
            plain.tensor(id).unwrap().to_f32() == fused.tensor(id).unwrap().to_f32(),
            "{id:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn safetensors_with_flipped_bytes(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..6)) {
        thread_local!(static FILES: [(Vec<u8>, Vec<u8>); 2] = [hf(), mlx()]);
        FILES.with(|files| for (config, weights) in files {
            let mut b = weights.clone();
            let n = 8 + u64::from_le_bytes(b[..8].try_into().unwrap()) as usize;
            for (i, v, anywhere) in &flips {
                let at = i.index(if *anywhere { b.len() } else { n });
                b[at] = *v;
            }
            if let Ok(s) = open_safetensors_bytes("m", config, &b) {
                touch(&s);
            }
        });
    }

    #[test]
    fn gguf_with_flipped_bytes(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..6)) {
        thread_local!(static FILE: Vec<u8> = gguf());
        FILE.with(|file| {
            let mut b = file.clone();
            for (i, v, anywhere) in &flips {
                let at = i.index(if *anywhere { b.len() } else { 2200 });
                b[at] = *v;
            }
            if let Ok(s) = open_gguf_bytes("m.gguf", &b) {
                touch(&s);
            }
        });
    }

    #[test]
    fn configs_with_flipped_bytes(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        thread_local!(static FILES: (Vec<u8>, Vec<u8>) = mlx());
        FILES.with(|(config, weights)| {
            let mut c = config.clone();
            for (i, v) in &flips {
                let at = i.index(c.len());
                c[at] = *v;
            }
            if let Ok(s) = open_safetensors_bytes("m", &c, weights) {
                touch(&s);
            }
        });
    }
}
