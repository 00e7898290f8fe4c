//! `molten roofline` and `molten bench` on the built-in model, with tiny settings. Nothing here asks how
//! fast the machine is.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Runs `molten args`, expects `code`, returns (stdout, stderr).
fn molten(args: &[&str], code: i32) -> (String, String) {
    let mut c = Command::new(env!("CARGO_BIN_EXE_molten"));
    c.args(args)
        .stdin(Stdio::null())
        .env("NO_COLOR", "1")
        .env("MOLTEN_CONFIG", "/nonexistent/config.toml");
    for v in ["MODEL", "DEVICE", "CONTEXT", "THREADS", "ISA", "PRECISION"] {
        c.env_remove(format!("MOLTEN_{v}"));
    }
    let o = c.output().unwrap();
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    let (out, err) = (text(&o.stdout), text(&o.stderr));
    assert_eq!(o.status.code(), Some(code), "{args:?}\n{out}\n{err}");
    assert!(!err.contains("panicked"), "{err}");
    (out, err)
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&molten(args, 0).0).unwrap()
}

/// The single line of an error.
fn error(args: &[&str], code: i32) -> String {
    let (out, err) = molten(args, code);
    assert_eq!((out.as_str(), err.lines().count()), ("", 1), "{out}\n{err}");
    err.trim_end()
        .strip_prefix("error: ")
        .expect(&err)
        .to_owned()
}

/// A measurement of spark that takes a moment.
const TINY: [&str; 10] = [
    "bench",
    "-n",
    "4",
    "-p",
    "8",
    "--repeats",
    "2",
    "--bandwidth",
    "10",
    "--depths",
];

#[test]
fn the_roofline_is_bandwidth_over_bytes() {
    let v = json(&[
        "roofline",
        "lfm2-24b-a2b",
        "--bandwidth",
        "614",
        "--contexts",
        "0,4096",
        "--json",
    ]);
    assert_eq!(v["model"], "lfm2-24b-a2b");
    assert_eq!(v["devices"][0]["read_gb_s"], 614.0);
    let rows = v["contexts"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[1]["depth"]), (2, &Value::from(4096)));
    for row in rows {
        let bytes = row["bytes_per_token"].as_f64().unwrap();
        let parts: f64 = row["parts"]
            .as_object()
            .unwrap()
            .values()
            .filter_map(Value::as_f64)
            .sum();
        assert!((parts - bytes).abs() <= 9.0, "{row}");
        let ceiling = row["ceiling_tok_s"].as_f64().unwrap();
        assert!((ceiling / (614e9 / bytes) - 1.0).abs() < 1e-6, "{row}");
    }
    // 4.5 bits for nearly all of 2.3 G active weights, and 20,480 bytes of keys and values a position.
    let at = |i: usize| rows[i]["bytes_per_token"].as_f64().unwrap();
    assert!((1.25e9..1.4e9).contains(&at(0)));
    assert_eq!(at(1) - at(0), 4096.0 * 20480.0);
}

#[test]
fn the_roofline_agrees_with_inspect() {
    let r = json(&[
        "roofline",
        "--bandwidth",
        "30",
        "--contexts",
        "0,256",
        "--json",
    ]);
    let i = json(&["inspect", "--contexts", "0,256", "--json"]);
    for k in 0..2 {
        assert_eq!(
            r["contexts"][k]["bytes_per_token"],
            i["bytes_per_token"][k]["bytes"]
        );
        assert_eq!(r["contexts"][k]["parts"], i["bytes_per_token"][k]["parts"]);
    }
}

#[test]
fn a_roofline_for_people() {
    let (out, _) = molten(
        &[
            "roofline",
            "lfm2-24b-a2b",
            "--bandwidth",
            "100",
            "--target",
            "300",
        ],
        0,
    );
    for part in [
        "ceiling = read bandwidth / bytes",
        "Left out:",
        "experts",
        "300 tok/s would take",
        "bits a weight instead of 4.50",
    ] {
        assert!(out.contains(part), "{part}\n{out}");
    }
    assert!(out.lines().all(|l| l.chars().count() <= 80), "{out}");
    assert!(!out.contains('█'), "a pipe gets no bars\n{out}");
    let bf16 = json(&[
        "roofline",
        "lfm2-24b-a2b",
        "--format",
        "bf16",
        "--bandwidth",
        "100",
        "--json",
    ]);
    assert!(bf16["bits"].as_f64().unwrap() > 15.99);
}

#[test]
fn the_roofline_measures_this_machine() {
    let v = json(&["roofline", "--threads", "1", "--contexts", "0", "--json"]);
    let d = &v["devices"][0];
    assert_eq!(d["kind"], "cpu");
    assert_eq!(d["by_threads"].as_array().unwrap().len(), 1);
    assert!(d["read_gb_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn wrong_calls_get_one_line() {
    let e = error(&["roofline", "lfm9"], 2);
    assert!(
        e.starts_with("\"lfm9\": no such file") && e.contains("lfm2-24b-a2b"),
        "{e}"
    );
    let e = error(&["bench", "--depths", "999999"], 2);
    assert!(e.starts_with("--depths has 999999; spark goes to "), "{e}");
    let e = error(&["bench", "--ab", "/nonexistent/molten"], 2);
    assert!(e.contains("/nonexistent/molten: no such file"), "{e}");
    let dir = tempfile::tempdir().unwrap();
    let at = |n: &str, text: &str| {
        let p = dir.path().join(n);
        std::fs::write(&p, text).unwrap();
        p.to_str().unwrap().to_owned()
    };
    let (list, other, none) = (
        at("list.json", "[1, 2]"),
        at("other.json", "{\"schema\": 7}"),
        "/nonexistent.json",
    );
    for (file, why) in [
        (list.as_str(), "is no result of bench"),
        (&other, "has schema 7"),
        (none, "cannot read"),
    ] {
        let e = error(&["bench", "--compare", file, file], 2);
        assert!(e.contains(file) && e.contains(why), "{e}");
    }
    let out = dir.path().join("x.svg");
    let e = error(
        &["bench", "--plot", out.to_str().unwrap(), "--from", &list],
        2,
    );
    assert!(e.contains("is no result") && !out.exists(), "{e}");
}

#[test]
fn a_result_has_what_the_contract_names() {
    let v = json(&[&TINY[..], &["0,64", "--json", "--commit", "abc"]].concat());
    for key in [
        "schema",
        "commit",
        "date",
        "device",
        "model",
        "precision",
        "bandwidth_gb_s",
        "correct",
        "binary_sha256",
        "driver",
        "runs",
        "peak_rss_bytes",
    ] {
        assert!(v.get(key).is_some(), "{key} is missing: {v:#}");
    }
    assert_eq!(
        (&v["schema"], &v["commit"], &v["correct"]),
        (&1.into(), &"abc".into(), &true.into())
    );
    for key in ["name", "kind", "threads", "isa"] {
        assert!(!v["device"][key].is_null(), "{key}");
    }
    for key in ["name", "format", "bits", "bytes_per_token"] {
        assert!(!v["model"][key].is_null(), "{key}");
    }
    assert_eq!(v["binary_sha256"].as_str().unwrap().len(), 64);
    let runs = v["runs"].as_array().unwrap();
    let kinds: Vec<&str> = runs.iter().filter_map(|r| r["kind"].as_str()).collect();
    assert_eq!(
        kinds,
        [
            "ttft", "prefill", "decode", "ttft", "prefill", "decode", "start"
        ]
    );
    for r in runs {
        for key in [
            "depth",
            "tokens",
            "tok_s",
            "seconds",
            "repeats",
            "median_of",
            "spread",
        ] {
            assert!(!r[key].is_null(), "{key}: {r}");
        }
        assert!(
            r.get("ceiling_tok_s").is_some() && r.get("share_of_ceiling").is_some(),
            "{r}"
        );
        assert_eq!(r["median_of"], 2);
    }
    // The ceiling is the formula's: bandwidth over the bytes in the middle of what was decoded.
    let bytes = json(&[
        "roofline",
        "--bandwidth",
        "10",
        "--contexts",
        "66",
        "--json",
    ]);
    let want = bytes["contexts"][0]["ceiling_tok_s"].as_f64().unwrap();
    let got = runs[5]["ceiling_tok_s"].as_f64().unwrap();
    assert!((got / want - 1.0).abs() < 1e-6, "{got} {want}");
}

#[test]
fn results_are_kept_compared_and_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().to_str().unwrap();
    let svg = dir.path().join("depth.svg");
    let args = [
        &TINY[..],
        &[
            "0,64",
            "--only",
            "decode",
            "--plot",
            svg.to_str().unwrap(),
            "--record",
            to,
        ],
    ]
    .concat();
    let (out, _) = molten(&args, 0);
    assert!(
        out.lines().all(|l| l.chars().count() <= 90) && out.contains("decode"),
        "{out}"
    );
    let kept: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    assert_eq!(kept.len(), 1);
    let file = kept[0].to_str().unwrap();
    assert!(file.ends_with("-spark.json"), "{file}");
    // The same day's second result does not replace the first.
    let (_, err) = molten(&args, 1);
    assert!(err.contains("exists already"), "{err}");

    let (out, err) = molten(&["bench", "--compare", file, file], 0);
    assert!(
        out.contains("1.000") && !err.contains("differs"),
        "{out}{err}"
    );
    let peer = dir.path().join("peer.json");
    std::fs::write(&peer, r#"{"schema":1,"engine":"peer 1.0","runs":[{"kind":"decode","depth":0,"tokens":4,"tok_s":5.0}]}"#).unwrap();
    let peer = peer.to_str().unwrap();
    let (out, err) = molten(&["bench", "--compare", file, peer], 0);
    assert_eq!(out.matches("decode").count(), 1, "{out}");
    for what in [
        "engine differs",
        "commit differs",
        "precision differs",
        "device differs",
    ] {
        assert!(err.contains(what), "{what}\n{err}");
    }
    let both = dir.path().join("both.svg");
    molten(
        &[
            "bench",
            "--plot",
            both.to_str().unwrap(),
            "--from",
            file,
            peer,
        ],
        0,
    );
    for (path, names) in [(&svg, vec!["Molten"]), (&both, vec!["Molten", "peer 1.0"])] {
        let text = std::fs::read_to_string(path).unwrap();
        assert!(
            text.starts_with("<svg") && names.iter().all(|n| text.contains(n)),
            "{text}"
        );
    }
}

#[test]
fn a_long_watch_and_another_build() {
    let v = json(&[&TINY[..], &["0", "--sustained", "1s", "--json"]].concat());
    let r = &v["runs"][0];
    assert_eq!(r["kind"], "sustained");
    assert!(
        r["series"].as_array().unwrap().len() > 1 && r["note"].is_string(),
        "{r}"
    );
    let me = env!("CARGO_BIN_EXE_molten");
    let v = json(&[&TINY[..], &["0", "--ab", me, "--pairs", "2", "--json"]].concat());
    let f = &v["figures"][0];
    assert_eq!(
        (&f["kind"], f["a_tok_s"].as_array().unwrap().len()),
        (&"decode".into(), 2)
    );
    assert!(f["low"].as_f64().unwrap() <= f["high"].as_f64().unwrap());
}

#[test]
fn random_weights_are_measured_and_swept_away() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.json");
    let spark = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/spark/config.json");
    std::fs::copy(spark, &config).unwrap();
    let name = config.to_str().unwrap();
    let v = json(
        &[
            &TINY[..],
            &[
                "0",
                "--only",
                "decode,start",
                "--synthetic",
                name,
                "--format",
                "q8_0",
                "--json",
            ],
        ]
        .concat(),
    );
    assert!(
        v["model"]["name"]
            .as_str()
            .unwrap()
            .starts_with("synthetic-")
    );
    assert!(
        v["check"].as_str().unwrap().contains("spark: "),
        "{}",
        v["check"]
    );
    assert_eq!(v["runs"].as_array().unwrap().len(), 2);
}
