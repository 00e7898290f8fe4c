//! The real binary, as a stranger would use it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn molten(args: &[&str]) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_molten"));
    c.args(args)
        .stdin(Stdio::null())
        .env("NO_COLOR", "1")
        .env("MOLTEN_CONFIG", "/nonexistent/config.toml");
    for v in [
        "MOLTEN_MODEL",
        "MOLTEN_DEVICE",
        "MOLTEN_CONTEXT",
        "MOLTEN_THREADS",
        "MOLTEN_ISA",
    ] {
        c.env_remove(v);
    }
    c
}

fn run(args: &[&str]) -> Output {
    molten(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs, expects `code`, returns (stdout, stderr).
fn expect(args: &[&str], code: i32) -> (String, String) {
    let o = run(args);
    let (out, err) = (text(&o.stdout), text(&o.stderr));
    assert_eq!(o.status.code(), Some(code), "{args:?}\n{out}\n{err}");
    assert!(!err.contains("panicked"), "{err}");
    (out, err)
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../lfm2/tests/golden")
        .join(name)
}

/// The single line of an error.
fn error(args: &[&str], code: i32) -> String {
    let (_, err) = expect(args, code);
    assert_eq!(err.lines().count(), 1, "{err}");
    err.trim_end()
        .strip_prefix("error: ")
        .expect(&err)
        .to_owned()
}

#[test]
fn files_that_are_no_models_get_one_clear_line() {
    let dir = tempfile::tempdir().unwrap();
    let at = |n: &str| dir.path().join(n);
    let say = |p: &Path| error(&["run", "-p", "x", "-m", p.to_str().unwrap()], 1);

    let gguf = std::fs::read(golden("kquant/kquant.gguf")).unwrap();
    std::fs::write(at("cut.gguf"), &gguf[..gguf.len() / 2]).unwrap();
    let e = say(&at("cut.gguf"));
    assert!(
        e.contains("cut.gguf: tensor ") && e.contains("it is cut short"),
        "{e}"
    );

    std::fs::write(at("photo.gguf"), b"\xff\xd8\xff\xe0\x00\x10JFIF\x00").unwrap();
    let e = say(&at("photo.gguf"));
    assert!(
        e.ends_with(
            "photo.gguf: is not a GGUF file: it starts with ff d8 ff e0 00 10 4a 46 (at byte 0)"
        ),
        "{e}"
    );

    std::fs::write(at("empty.gguf"), b"").unwrap();
    assert!(say(&at("empty.gguf")).ends_with("empty.gguf: is empty (0 bytes): download it again"));

    std::fs::create_dir(at("empty")).unwrap();
    let e = say(&at("empty"));
    assert!(
        e.ends_with(
            "empty: holds neither a config.json nor a .gguf file: it is no model directory"
        ),
        "{e}"
    );

    std::fs::create_dir(at("half")).unwrap();
    std::fs::copy(golden("dense/config.json"), at("half/config.json")).unwrap();
    let e = say(&at("half"));
    assert!(
        e.ends_with(
            "has a config.json but neither model.safetensors, model.safetensors.index.json nor a .gguf file"
        ),
        "{e}"
    );

    // The golden model has no tokenizer.
    let e = say(&golden("dense"));
    assert!(e.contains("tokenizer.json"), "{e}");

    let e = error(&["run", "-p", "x", "-m", "no-such-model"], 2);
    assert!(
        e.starts_with("--model \"no-such-model\": no such file or directory, and "),
        "{e}"
    );
}

#[test]
fn wrong_calls_exit_with_2() {
    expect(&["frobnicate"], 2);
    expect(&["chat", "--temperature", "warm", "x"], 2);
    let (_, err) = expect(&["inspect", "-x"], 2);
    assert!(err.contains("unexpected argument"), "{err}");
    let e = error(&["run", "-p", "x", "--isa", "sse9"], 2);
    assert!(
        e.starts_with("--isa is \"sse9\"; this processor has scalar"),
        "{e}"
    );
    let e = error(&["run", "-p", "x", "--device", "tpu"], 2);
    assert!(e.starts_with("--device is \"tpu\"; this build has "), "{e}");
    assert_eq!(
        error(&["run", "-p", "x", "--threads", "0"], 2),
        "--threads is 0; expected at least 1"
    );
}

#[test]
fn help_fits_80_columns_and_man_pages_and_completions_come() {
    for c in ["chat", "run", "inspect", "synth", "doctor", "verify"] {
        let o = molten(&[c, "--help"])
            .env("COLUMNS", "80")
            .output()
            .unwrap();
        assert!(o.status.success());
        assert!(text(&o.stdout).contains("Usage: molten"), "{c}");
    }
    let (out, _) = expect(&["completions", "bash"], 0);
    assert!(out.contains("molten"));
    let dir = tempfile::tempdir().unwrap();
    expect(&["man", dir.path().to_str().unwrap()], 0);
    assert!(dir.path().join("molten-chat.1").is_file());
}

#[test]
fn inspect_and_doctor_speak_json() {
    let g = golden("moe");
    let (out, _) = expect(&["inspect", "--json", g.to_str().unwrap()], 0);
    let v: serde_json::Value = serde_json::from_str(&out).unwrap();
    for key in [
        "architecture",
        "parameters",
        "active_parameters",
        "layers",
        "quantisation",
        "bytes_per_token",
        "tensors",
    ] {
        assert!(!v[key].is_null(), "{key}");
    }
    assert_eq!(v["architecture"], "lfm2_moe");
    let (out, _) = expect(&["doctor", "--json"], 0);
    let v: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(v["settings"]["threads"]["origin"], "default");
    let o = molten(&["doctor", "--json"])
        .env("MOLTEN_THREADS", "3")
        .output()
        .unwrap();
    let v: serde_json::Value = serde_json::from_slice(&o.stdout).unwrap();
    assert_eq!(v["settings"]["threads"]["origin"], "environment");
    assert_eq!(v["settings"]["threads"]["value"], "3");
}

#[test]
fn a_config_file_is_read_and_its_errors_name_the_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    std::fs::write(&path, "threads = 1\ncontext = 512\n").unwrap();
    let o = molten(&["doctor", "--json"])
        .env("MOLTEN_CONFIG", &path)
        .output()
        .unwrap();
    let v: serde_json::Value = serde_json::from_slice(&o.stdout).unwrap();
    assert_eq!(v["settings"]["context"]["origin"], "config file");
    std::fs::write(&path, "threads = 1\ncontxt = 512\n").unwrap();
    let o = molten(&["doctor"])
        .env("MOLTEN_CONFIG", &path)
        .output()
        .unwrap();
    assert_eq!(o.status.code(), Some(2));
    assert!(
        text(&o.stderr).contains("config.toml: line 2: unknown field"),
        "{}",
        text(&o.stderr)
    );
}

#[test]
fn synth_writes_models_that_run_and_verify() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.json");
    let tiny = r#"{"model_type":"lfm2_moe","vocab_size":1024,"hidden_size":256,"num_hidden_layers":4,
        "layer_types":["conv","full_attention","conv","conv"],"num_attention_heads":4,"num_key_value_heads":2,
        "intermediate_size":512,"moe_intermediate_size":256,"num_dense_layers":1,"num_experts":8,
        "num_experts_per_tok":2,"conv_L_cache":3,"max_position_embeddings":2048,"norm_eps":1e-5}"#;
    std::fs::write(&config, tiny).unwrap();
    let config = config.to_str().unwrap();
    let mut answers = Vec::new();
    for out in [
        "mlx4",
        "mlx8",
        "bf16",
        "f16",
        "f32",
        "bf16.gguf",
        "f16.gguf",
        "f32.gguf",
        "q4_0.gguf",
        "q8_0.gguf",
        "q4_k_m.gguf",
        "q5_k_m.gguf",
        "q6_k.gguf",
    ] {
        let format = out.trim_end_matches(".gguf");
        let out = dir.path().join(out);
        let out = out.to_str().unwrap();
        expect(&["synth", config, out, "--format", format], 0);
        expect(&["synth", config, out, "--format", format], 1);
        expect(&["synth", config, out, "--format", format, "--force"], 0);
        let args = [
            "run",
            "-q",
            "-m",
            out,
            "-p",
            "hello",
            "-n",
            "12",
            "--temperature",
            "0",
        ];
        answers.push(expect(&args, 0).0);
        let (table, _) = expect(&["verify", "-m", out, "--steps", "10,80", "--json"], 0);
        let v: serde_json::Value = serde_json::from_str(&table).unwrap();
        assert_eq!(v["pass"], true, "{format}: {table}");
    }
    // The same seed gives the same weights in every format, so every format gives the same answer.
    assert!(answers.iter().all(|a| *a == answers[0]), "{answers:#?}");
    let e = error(
        &["synth", "lfm9-1t", dir.path().join("x").to_str().unwrap()],
        2,
    );
    assert!(e.contains("lfm2-24b-a2b"), "{e}");
}

#[cfg(feature = "spark")]
mod spark {
    use super::*;

    #[test]
    fn answers_from_an_argument_and_from_a_pipe() {
        let (out, err) = expect(&["chat", "Hello!", "--temperature", "0", "--stats"], 0);
        assert!(out.trim().len() > 3 && out.ends_with('\n'), "{out:?}");
        assert!(err.contains("tok/s"), "{err}");
        let mut child = molten(&["chat", "--temperature", "0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"Hello!\n").unwrap();
        assert_eq!(text(&child.wait_with_output().unwrap().stdout), out);
        assert_eq!(error(&["chat", "  "], 2), "the prompt is empty");
        assert_eq!(error(&["chat"], 2), "the prompt is empty");
    }

    #[test]
    fn same_seed_same_answer_and_every_path_the_same_greedy_text() {
        let args = [
            "run",
            "-q",
            "-p",
            "The",
            "-n",
            "30",
            "--seed",
            "5",
            "--temperature",
            "0.9",
        ];
        assert_eq!(expect(&args, 0).0, expect(&args, 0).0);
        let greedy = [
            "run",
            "-q",
            "-p",
            "The old man",
            "-n",
            "24",
            "--temperature",
            "0",
        ];
        let want = expect(&greedy, 0).0;
        for isa in ["scalar", "avx2", "avx512-vnni", "neon", "neon-dotprod"] {
            let o = molten(&greedy).env("MOLTEN_ISA", isa).output().unwrap();
            if o.status.code() == Some(2) {
                assert!(text(&o.stderr).contains("this processor has"), "{isa}");
            } else {
                assert_eq!(text(&o.stdout), want, "{isa}");
            }
        }
    }

    #[test]
    fn calls_a_tool() {
        let dir = tempfile::tempdir().unwrap();
        let tools = dir.path().join("tools.json");
        std::fs::write(
            &tools,
            r#"[{"type":"function","function":{"name":"get_weather","description":"Get the current weather for a city.",
                "parameters":{"type":"object","properties":{"city":{"type":"string","description":"City name"}},"required":["city"]}}}]"#,
        )
        .unwrap();
        let tools = tools.to_str().unwrap();
        let args = [
            "chat",
            "--tools",
            tools,
            "--temperature",
            "0",
            "What is the weather in Lisbon?",
        ];
        let (out, _) = expect(&args, 0);
        assert_eq!(out, "→ get_weather {\"city\": \"Lisbon\"}\n");
        let e = error(&["chat", "--tools", "/nonexistent", "x"], 2);
        assert!(e.starts_with("/nonexistent: cannot read"), "{e}");
    }

    #[test]
    fn stop_strings_limits_and_closed_pipes() {
        let base = ["run", "-q", "-p", "The", "--temperature", "0", "-n", "20"];
        let full = expect(&base, 0).0;
        let word = full.split_whitespace().nth(2).unwrap().to_owned();
        let mut with_stop = base.to_vec();
        with_stop.extend(["--stop", &word]);
        let cut = expect(&with_stop, 0).0;
        assert_eq!(
            cut.trim_end_matches('\n'),
            &full[..full.find(&word).unwrap()]
        );

        let e = error(&["run", "-p", "x", "--context", "999999"], 2);
        assert_eq!(e, "--context is 999999; spark was made for at most 2048");
        let long = "word ".repeat(3000);
        let e = error(&["run", "-p", &long], 1);
        assert!(
            e.starts_with("the prompt has ") && e.contains("the context holds 2048"),
            "{e}"
        );

        // The disk under the output is full: a line that says so.
        if let Ok(full) = std::fs::File::options().write(true).open("/dev/full") {
            let o = molten(&["run", "-p", "Once", "-n", "4"])
                .stdout(full)
                .output();
            let o = o.unwrap();
            assert_eq!(o.status.code(), Some(1));
            let e = text(&o.stderr);
            assert!(e.starts_with("error: cannot write the output: "), "{e}");
            assert_eq!(e.lines().count(), 1, "{e}");
        }

        // The reader goes away: no error, no panic.
        let mut child = molten(&[
            "run",
            "-p",
            "Once",
            "-n",
            "400",
            "--logit-bias",
            "7=-100",
            "--logit-bias",
            "2=-100",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
        drop(child.stdout.take());
        let o = child.wait_with_output().unwrap();
        assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
    }
}
