//! The tool-call parser: each case is read whole, cut at every place, in small and in random
//! pieces, and must always say the same.

use lfm2::tokenizer::Detokenizer;
use lfm2::tool_calls::{Call, Event, Marker, Options, Parser, Reasoning, Tool, render_calls};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const TS: &str = "<|tool_call_start|>";
const TE: &str = "<|tool_call_end|>";

/// Long enough for a call to go out early.
const LONG: &str = "0123456789 abcdefghij 0123456789 abcdefghij 0123456789 abcdefghij \
                    0123456789 abcdefghij 0123456789 abcdefghij 0123456789 abcdefghij";

fn tools() -> Vec<Tool> {
    let tool = |name: &str, parameters: &[&str]| Tool {
        name: name.into(),
        parameters: parameters.iter().map(|p| (*p).to_owned()).collect(),
    };
    vec![
        tool("find_files", &["pattern", "limit"]),
        tool("run_python", &["code"]),
        tool("fs.write", &["path", "body", "opts", "from"]),
        tool("read", &["path"]),
        tool("list", &[]),
        tool("bash", &["cmd", "timeout"]),
        tool("define", &["function", "name"]),
    ]
}

fn options(reasoning: Reasoning) -> Options {
    Options {
        tools: tools(),
        reasoning,
        id_seed: Some(7),
        ..Options::default()
    }
}

/// What a client ends up with.
#[derive(Debug, Default, PartialEq, Clone)]
struct Reply {
    thought: String,
    /// Content and unparsed text (in ⟦⟧) in order, with ⟨n⟩ where call n stands.
    text: String,
    calls: Vec<(String, String)>,
    broken: Vec<usize>,
    ids: Vec<String>,
}

fn collect(events: impl IntoIterator<Item = Event>) -> Reply {
    let mut reply = Reply::default();
    for event in events {
        match event {
            Event::Reasoning(delta) => reply.thought.push_str(&delta),
            Event::Content(delta) => reply.text.push_str(&delta),
            Event::Unparsed(text) => reply.text.extend(["⟦", &text, "⟧"]),
            Event::ToolCallStart { index, id, name } => {
                assert_eq!(index, reply.calls.len(), "indexes rise by one");
                reply.text.extend(["⟨", &index.to_string(), "⟩"]);
                reply.calls.push((name, String::new()));
                assert!(!reply.ids.contains(&id), "ids differ");
                reply.ids.push(id);
            }
            Event::ToolCallArgs { index, delta } => reply.calls[index].1.push_str(&delta),
            Event::ToolCallBroken { index } => reply.broken.push(index),
            Event::ToolCallEnd { index } => {
                let arguments: Value = serde_json::from_str(&reply.calls[index].1).unwrap();
                assert!(arguments.is_object());
            }
        }
    }
    reply
}

fn feed<'a>(options: &Options, chunks: impl IntoIterator<Item = &'a str>, complete: bool) -> Reply {
    let mut parser = Parser::new(options.clone());
    let mut events = Vec::new();
    for chunk in chunks {
        events.extend(parser.push(chunk));
    }
    events.extend(parser.finish(complete));
    collect(events)
}

fn pieces(text: &str, size: usize) -> Vec<&str> {
    let mut places: Vec<usize> = text.char_indices().map(|(i, _)| i).step_by(size).collect();
    places.push(text.len());
    places.windows(2).map(|w| &text[w[0]..w[1]]).collect()
}

/// Reads `text` in every way of cutting it and returns the one result.
fn read_with(options: &Options, text: &str, complete: bool) -> Reply {
    let whole = feed(options, [text], complete);
    for size in [1, 2, 3, 7] {
        assert_eq!(
            feed(options, pieces(text, size), complete),
            whole,
            "size {size}: {text}"
        );
    }
    for (at, _) in text.char_indices() {
        let (a, b) = text.split_at(at);
        assert_eq!(
            feed(options, [a, b], complete),
            whole,
            "cut at {at}: {text}"
        );
    }
    let mut state = 12345u64;
    for _ in 0..20 {
        let (mut chunks, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let want = 1 + (state >> 33) as usize % 9;
            let at = rest.char_indices().nth(want).map_or(rest.len(), |(i, _)| i);
            chunks.push(&rest[..at]);
            rest = &rest[at..];
        }
        assert_eq!(
            feed(options, chunks, complete),
            whole,
            "random cuts: {text}"
        );
    }
    whole
}

fn read(text: &str) -> Reply {
    read_with(&options(Reasoning::Auto), text, true)
}

fn calls(reply: &Reply) -> Value {
    let pair = |(name, arguments): &(String, String)| {
        json!([name, serde_json::from_str::<Value>(arguments).unwrap()])
    };
    reply.calls.iter().map(pair).collect()
}

/// A block holding `inside` gives these calls and no text.
#[allow(clippy::needless_pass_by_value)] // the expected values read better where they are built
fn block(inside: &str, expected: Value) {
    let reply = read(&format!("{TS}{inside}{TE}"));
    assert_eq!(calls(&reply), expected, "{inside}");
    assert!(
        !reply.text.contains('⟦') && !reply.text.contains('<'),
        "{inside}: {}",
        reply.text
    );
}

/// A block holding `inside` is no call and comes back as flagged text.
fn unparsed(inside: &str) {
    let reply = read(&format!("{TS}{inside}{TE}"));
    assert_eq!(
        (reply.calls.len(), reply.text),
        (0, format!("⟦{}⟧", inside.trim()))
    );
}

#[test]
fn r01_the_documented_format() {
    let call = "[find_files(pattern='*.rs', limit=3)]";
    let expected = json!([["find_files", {"pattern": "*.rs", "limit": 3}]]);
    for text in [
        format!("{TS}{call}{TE}"),
        call.to_owned(),
        format!("{TS} {call}{TE}"),
        format!("{TS}\n{call}\n{TE}\n"),
        format!("{TS}{call}{TE}<|im_end|>"),
        format!("{call}{TE}"),
        format!("{call}\n"),
        format!("{TS}{call}"),
        format!("{TS}{}{TE}", &call[1..call.len() - 1]),
        call[1..call.len() - 1].to_owned(),
        format!("{TS}{call}{TE}{call}{TE}"),
        format!("{TS}{call}{TE}\n{call}\n{TE}<|im_end|>"),
        format!("{TS}{call}{TE}{call}"),
    ] {
        let reply = read(&text);
        assert_eq!(calls(&reply), expected, "{text}");
        assert_eq!(reply.text, "⟨0⟩", "{text}");
        assert_eq!(reply.calls[0].1, r#"{"pattern": "*.rs", "limit": 3}"#);
    }
}

#[test]
fn r02_quotes_and_backslashes() {
    let text = r#"[run_python(code='print(\'a\')\nprint("b\\t")')]"#;
    block(
        text,
        json!([["run_python", {"code": "print('a')\nprint(\"b\\t\")"}]]),
    );
}

#[test]
fn r03_everything_inside_strings() {
    let text = "[fs.write(path='a, b].txt', body='x = [1, 2]\nif x: pass\n', \
                opts={'mode': 'w', 'tags': ['a', 'b,c']}, from=2)]";
    let expected = json!([["fs.write", {"path": "a, b].txt", "body": "x = [1, 2]\nif x: pass\n",
        "opts": {"mode": "w", "tags": ["a", "b,c"]}, "from": 2}]]);
    block(text, expected);
    block(
        r"[read(path='C:\\dir\\')]",
        json!([["read", {"path": "C:\\dir\\"}]]),
    );
    block(
        r"[read(path='C:\dir\')]",
        json!([["read", {"path": "C:\\dir\\"}]]),
    );
    block(
        "[define(function='f', name=\"n\")]",
        json!([["define", {"function": "f", "name": "n"}]]),
    );
}

#[test]
fn r04_blocks_and_text_in_order() {
    let text = format!("Looking. {TS}[read(path='a')]{TE}{TS}[read(path='b'), list()]{TE} Done.");
    let reply = read(&text);
    assert_eq!(reply.text, "Looking. ⟨0⟩⟨1⟩⟨2⟩ Done.");
    let expected = json!([["read", {"path": "a"}], ["read", {"path": "b"}], ["list", {}]]);
    assert_eq!(calls(&reply), expected);
    let reply = read(&format!(
        "{TS}[list()]{TE}\n\n{TS}[list()]{TE}\nmid\n{TS}list(){TE}\n"
    ));
    assert_eq!(reply.text, "⟨0⟩⟨1⟩\nmid\n⟨2⟩");
}

#[test]
fn r08_thoughts() {
    let open = options(Reasoning::Open);
    let auto = options(Reasoning::Auto);
    for (options, text) in [
        (&open, "plan it</think>Answer."),
        (&open, "<think>plan it</think>Answer."),
        (&open, "\nplan it\n</think>\n\nAnswer."),
        (&auto, "<think>plan it</think>Answer."),
        (&auto, "\n<think>\nplan it\n</think>\n\nAnswer."),
    ] {
        let reply = read_with(options, text, true);
        assert_eq!(
            (reply.thought.as_str(), reply.text.as_str()),
            ("plan it", "Answer."),
            "{text}"
        );
    }
    let cut = read_with(&open, "plan it, then", false);
    assert_eq!(
        (cut.thought.as_str(), cut.text.as_str()),
        ("plan it, then", "")
    );

    let text = format!("maybe {TS}[list()]{TE}?</think>{TS}[read(path='x')]{TE}");
    let reply = read_with(&open, &text, true);
    assert_eq!(reply.thought, format!("maybe {TS}[list()]{TE}?"));
    assert_eq!(calls(&reply), json!([["read", {"path": "x"}]]));
    let reply = read_with(&open, "so</think>\n[list()]", true);
    assert_eq!(
        (calls(&reply), reply.text.as_str()),
        (json!([["list", {}]]), "⟨0⟩")
    );

    let off = options(Reasoning::Off);
    assert_eq!(
        read_with(&off, "<think>a</think>b", true).text,
        "<think>a</think>b"
    );
    assert_eq!(read_with(&auto, "a <think> b", true).text, "a <think> b");
    block(
        "[read(path='<think>a</think>')]",
        json!([["read", {"path": "<think>a</think>"}]]),
    );
}

#[test]
fn hard_cases_of_the_specification() {
    let f = |arguments: Value| json!([["f", arguments]]);
    block("[f(a='x, y')]", f(json!({"a": "x, y"})));
    block(r"[f(a='t\tn\nu\u00e9')]", f(json!({"a": "t\tn\nué"})));
    block(
        "[f(d={'a': [1, {\"b\": null}], 'c': True}, e=[None, false])]",
        f(json!({"d": {"a": [1, {"b": null}], "c": true}, "e": [null, false]})),
    );
    block(
        "[f(a=1), g(b=2)]",
        json!([["f", {"a": 1}], ["g", {"b": 2}]]),
    );
    block(
        "[Calendar.create_event(at='9')]",
        json!([["Calendar.create_event", {"at": "9"}]]),
    );
    block("[f(a='one\ntwo')]", f(json!({"a": "one\ntwo"})));
    block(
        "[f(a='sed -n '1,9p' f.py')]",
        f(json!({"a": "sed -n '1,9p' f.py"})),
    );
    block(
        "[f(from=1, class='x')]",
        f(json!({"from": 1, "class": "x"})),
    );
    block("[f(a=07)]", f(json!({"a": 7})));
    block("f(a=1)", f(json!({"a": 1})));
    block("[f(a=1)", f(json!({"a": 1})));
    block("[f(a=1]", f(json!({"a": 1})));
    block("[f(a=1),]", f(json!({"a": 1})));
    block("[f(a=hello)]", f(json!({"a": "hello"})));
    block("[f(a=1e999)]", f(json!({"a": "1e999"})));
    block(
        "[f(a=NaN, b=-Infinity)]",
        f(json!({"a": "NaN", "b": "-Infinity"})),
    );
    block(
        "[f(a=(1, 2), b={1, 2})]",
        f(json!({"a": [1, 2], "b": [1, 2]})),
    );
    block(
        "[f(a=-1, b=+2, c=-0.5)]",
        f(json!({"a": -1, "b": 2, "c": -0.5})),
    );
    block("[f(**{'odd key': 1})]", f(json!({"odd key": 1})));
    block("\u{1}[f(a=1)]\u{2}", f(json!({"a": 1})));
    block("[f(a='x\u{1}y')]", f(json!({"a": "x\u{1}y"})));

    block(
        r#"[{"name": "f", "arguments": {"a": 1}}]"#,
        f(json!({"a": 1})),
    );
    block(
        r#"{"name": "f", "parameters": {"a": 1}}"#,
        f(json!({"a": 1})),
    );
    block(
        r#"[{"id": "c1", "name": "f", "arguments": "{\"a\": 1}"}, {"name": "g"}]"#,
        json!([["f", {"a": 1}], ["g", {}]]),
    );
    block(
        r#"{"type": "function", "function": {"name": "f", "arguments": {"p": "a\/b"}}}"#,
        f(json!({"p": "a/b"})),
    );
    block(
        "{'name': 'f', 'arguments': {'a': True}}",
        f(json!({"a": true})),
    );

    block(
        "[read('x'), bash({'cmd': 'ls'})]",
        json!([["read", {"path": "x"}], ["bash", {"cmd": "ls"}]]),
    );
    block("[]", json!([]));
}

#[test]
fn arguments_are_never_dropped() {
    for inside in [
        "[unknown_tool('positional')]",
        "[read('a', 'b')]",
        "[read('a', path='b')]",
        "[f(a=1, a=2)]",
        r#"[{"name": "f", "arguments": {"a": 1}, "also": 2}]"#,
        r#"[{"name": "f", "arguments": {"a": 1}, "parameters": {"b": 2}}]"#,
        r#"[{"name": "f", "arguments": [1]}]"#,
        r#"[{"name": "f", "arguments": "no json"}]"#,
        "[f(a='x]",
        "nothing like a call",
        "[f(a=)]",
        "[f(",
    ] {
        unparsed(inside);
    }
}

#[test]
fn a_bad_sibling_costs_only_itself() {
    let reply = read(&format!("{TS}[read(path='a'), f(b=@'), list()]{TE}"));
    assert_eq!(
        calls(&reply),
        json!([["read", {"path": "a"}], ["list", {}]])
    );
    assert_eq!(reply.text, "⟨0⟩⟦f(b=@')⟧⟨1⟩");
}

#[test]
fn quote_repair_wants_one_reading() {
    block(
        "[bash(cmd='echo 'a', 'b'', timeout=3)]",
        json!([["bash", {"cmd": "echo 'a', 'b'", "timeout": 3}]]),
    );
    block(
        r#"[bash(cmd="grep "x y" f")]"#,
        json!([["bash", {"cmd": "grep \"x y\" f"}]]),
    );
    block(
        "[bash(cmd='it's'), read(path='b')]",
        json!([["bash", {"cmd": "it's"}], ["read", {"path": "b"}]]),
    );
    // Two readings, and no schema that could tell which.
    unparsed("[g(x='say 'hi', y='there', z='it's')]");
}

#[test]
fn a_cut_call_is_not_guessed_at() {
    let cut = |text: &str| read_with(&options(Reasoning::Auto), text, false);
    let reply = cut(&format!("{TS}[read(path='a'), bash(cmd='rm -r /tmp"));
    assert_eq!(calls(&reply), json!([["read", {"path": "a"}]]));
    assert_eq!(reply.text, "⟨0⟩⟦bash(cmd='rm -r /tmp⟧");
    assert_eq!(
        cut(&format!("{TS}[bash(timeout=1")).text,
        "⟦[bash(timeout=1⟧"
    );
    assert_eq!(cut("[bash(timeout=1").text, "[bash(timeout=1");
    assert_eq!(cut("Hello <|tool_ca").text, "Hello <|tool_ca");
}

#[test]
fn long_arguments_go_out_early() {
    let long = "fn main() {\n    let x = \"é\\n\"; // don't\n}\n".repeat(12);
    let arguments = json!({"path": "a.rs", "body": long, "opts": {"mode": "w"}, "from": 1});
    let text = render_calls(&[
        Call {
            name: "list",
            arguments: &Map::new(),
        },
        Call {
            name: "fs.write",
            arguments: arguments.as_object().unwrap(),
        },
        Call {
            name: "read",
            arguments: json!({"path": "b"}).as_object().unwrap(),
        },
    ]);
    let reply = read(&text);
    let expected = json!([["list", {}], ["fs.write", arguments], ["read", {"path": "b"}]]);
    assert_eq!(calls(&reply), expected);
    let mut parser = Parser::new(options(Reasoning::Auto));
    let early = pieces(&text, 4)
        .into_iter()
        .flat_map(|chunk| parser.push(chunk))
        .filter(|event| matches!(event, Event::ToolCallArgs { index: 1, .. }));
    let early = early.count();
    assert!(early > 60, "{early}");

    // Cut off: what went out stays unfinished, and nothing is made up.
    let half = text.char_indices().nth(text.chars().count() / 2).unwrap().0;
    let cut = read_with(&options(Reasoning::Auto), &text[..half], false);
    let seen = (cut.calls.len(), cut.broken.as_slice(), cut.text.as_str());
    assert_eq!(seen, (2, &[1][..], "⟨0⟩⟨1⟩"));
    assert!(serde_json::from_str::<Value>(&cut.calls[1].1).is_err());
    assert!(reply.calls[1].1.starts_with(&cut.calls[1].1));

    // A quote that needs repair: the repaired reading continues what was sent.
    let repaired = format!("{LONG} 'q' z");
    block(
        &format!("[bash(cmd='{repaired}', timeout=1)]"),
        json!([["bash", {"cmd": repaired, "timeout": 1}]]),
    );
    // No reading at all: flagged, with the text.
    let reply = read(&format!("{TS}[bash(cmd='{LONG}', cmd=2), list()]{TE}"));
    assert_eq!((reply.calls.len(), reply.broken.as_slice()), (2, &[0][..]));
    assert_eq!(reply.text, format!("⟨0⟩⟦bash(cmd='{LONG}', cmd=2)⟧⟨1⟩"));
    for inside in [
        format!("[f(a='{LONG}', **{{'a': 1}})]"),
        format!("[f(a='{LONG}' 'more')]"),
        format!("[f(a='''{LONG}''')]"),
        format!("[f('{LONG}')]"),
        format!("[f(a='{LONG}\\u12')]"),
        format!("[f(a='{LONG}'), g(b='x' y')]"),
        format!("[f(a='{LONG}'"),
        format!("[g(b='x' y'), f(a='{LONG}')]"),
        format!("[f(a=r'{LONG}', b='{LONG}{LONG}\\\\')]"),
        format!("[f(a='{LONG}\\ud83d\\ude00 {LONG}')]"),
    ] {
        read(&format!("{TS}{inside}{TE}"));
        read_with(&options(Reasoning::Auto), &format!("{TS}{inside}"), false);
    }
}

#[test]
fn prose_is_no_call() {
    for text in [
        "[read(path='a')] is how you call it.",
        "Use [read(path='a')] for that.",
        "[unknown(path='a')]",
        "[1, 2, 3]\nare numbers",
        "[link](http://x)",
        "list the files\n",
        "{\"name\": \"Bob\", \"age\": 3}",
        "{\"a\": 1}",
        "[",
        "read",
        "read(path",
        "a < b <- c <<think",
    ] {
        assert_eq!(read(text).text.trim(), text.trim());
        assert!(read(text).calls.is_empty());
    }
    let reply = read("I will look.\n[read(path='a')]");
    assert_eq!(
        (calls(&reply), reply.text.as_str()),
        (json!([["read", {"path": "a"}]]), "I will look.\n⟨0⟩")
    );
    let reply = read("[read(path='a')]\nThat is all.");
    assert_eq!(reply.text, "⟨0⟩\nThat is all.");
    let reply = read(r#"{"name": "read", "arguments": {"path": "a"}}"#);
    assert_eq!(calls(&reply), json!([["read", {"path": "a"}]]));
    // Without tools nothing is held back.
    let none = Options::default();
    assert_eq!(
        feed(&none, ["[read(path='a')]"], true).text,
        "[read(path='a')]"
    );
}

#[test]
fn a_reply_that_begins_like_an_echo_is_kept() {
    let reply = read(&format!("{TS}[list()]{TE}[list() is done]"));
    assert_eq!(reply.text, "⟨0⟩[list() is done]");
    let reply = read(&format!("{TS}[list()]{TE}{TS}[list()]{TE}"));
    assert_eq!(reply.calls.len(), 2);
}

#[test]
fn markers_as_tokens_cannot_be_spelled() {
    let options = Options {
        markers_in_text: false,
        ..options(Reasoning::Auto)
    };
    let mut parser = Parser::new(options);
    let inside = format!("[read(path='{TE}')]");
    let mut events = parser.push(&format!("see {TS}: "));
    events.extend(parser.push_marker(Marker::CallStart));
    events.extend(pieces(&inside, 1).into_iter().flat_map(|c| parser.push(c)));
    assert!(parser.in_block());
    events.extend(parser.push_marker(Marker::of(TE).unwrap()));
    events.extend(parser.finish(true));
    let reply = collect(events);
    assert_eq!(calls(&reply), json!([["read", {"path": TE}]]));
    assert_eq!(reply.text, format!("see {TS}: ⟨0⟩"));
}

#[test]
fn replay_text_is_kept_byte_for_byte() {
    let (thought, text) = (" plan\n", format!("\nok {TS}[list( )]{TE}[list( )]{TE}\n"));
    let mut parser = Parser::new(options(Reasoning::Open));
    for chunk in pieces(&format!("{thought}</think>{text}"), 1) {
        parser.push(chunk);
    }
    parser.finish(true);
    assert_eq!(
        (parser.raw_thought(), parser.raw_text()),
        (thought, text.as_str())
    );
}

#[test]
fn r22_cut_characters_in_an_argument() {
    let value = "naïve — 東京 👩‍💻 end";
    let text = format!("{value}{TS}[read(path='{value}')]{TE}");
    let (mut detokenizer, mut parser) = (Detokenizer::new(), Parser::new(options(Reasoning::Auto)));
    let mut events = Vec::new();
    for byte in text.as_bytes().chunks(1) {
        let mut delta = String::new();
        detokenizer.push(byte, &mut delta);
        events.extend(parser.push(&delta));
    }
    events.extend(parser.finish(true));
    let reply = collect(events);
    assert_eq!(calls(&reply), json!([["read", {"path": value}]]));
    assert_eq!(reply.text, format!("{value}⟨0⟩"));
}

#[test]
fn ids_differ_between_replies() {
    let one = || {
        let mut parser = Parser::new(Options::default());
        collect(parser.push(&format!("{TS}f(){TE}"))).ids.remove(0)
    };
    assert_ne!(one(), one());
}

#[test]
fn hostile_blocks_end_soon() {
    let started = std::time::Instant::now();
    for inside in [
        format!("[f(a={})]", "'x' y".repeat(5_000)),
        format!("[f(a='{}')]", "', b='".repeat(3_000)),
        "f(".repeat(20_000),
        "{".repeat(20_000),
        "[f(a=1) x, ".repeat(3_000),
        "f)".repeat(20_000),
        format!("[f(a='{})]", "\\'".repeat(5_000)),
    ] {
        let whole = format!("{TS}{inside}{TE}{inside}");
        feed(&options(Reasoning::Auto), [whole.as_str()], true);
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~]{0,12}",
        "['\"\\\\\n\r\t,)(\\]\\[{}=<>|a]{0,10}",
        ".{0,6}",
        Just(format!("<|im_star|>{TE}x").replace("tool", "toOl")),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |v| v.is_finite())
            .prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((".{0,5}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_rendered_is_read_back(
        all in prop::collection::vec(
            ("[a-z_][a-z0-9_.]{0,8}", prop::collection::vec(("[a-z_]{1,6}|.{0,6}", any_json()), 0..4)), 1..4),
        size in 1usize..20,
    ) {
        let all: Vec<(String, Map<String, Value>)> =
            all.into_iter().map(|(name, fields)| (name, fields.into_iter().collect())).collect();
        let calls: Vec<Call<'_>> = all.iter().map(|(name, arguments)| Call { name, arguments }).collect();
        let text = render_calls(&calls);
        let reply = feed(&options(Reasoning::Auto), pieces(&text, size), true);
        let got: Vec<(String, Map<String, Value>)> = reply.calls.iter()
            .map(|(name, text)| (name.clone(), serde_json::from_str(text).unwrap())).collect();
        prop_assert_eq!(got, all);
    }

    #[test]
    fn noise_never_panics_and_never_depends_on_cuts(
        parts in prop::collection::vec(prop_oneof![
            Just(TS), Just(TE), Just("<think>"), Just("</think>"), Just("["), Just("]"), Just("read(path='a')"),
            Just("read("), Just(")"), Just(", "), Just("'"), Just("\""), Just("\\"), Just("\n"), Just(" "), Just("x"),
            Just(LONG), Just("f(a='"), Just("b=\""), Just("',"), Just("\\\\"), Just("list()"), Just("{\"name\": \"list\"}"), Just("{"), Just("}"), Just("=1"), Just("<|"), Just("é東"),
        ], 0..25),
        open in any::<bool>(), complete in any::<bool>(), size in 1usize..5,
    ) {
        let text = parts.concat();
        let options = options(if open { Reasoning::Open } else { Reasoning::Auto });
        let whole = feed(&options, [text.as_str()], complete);
        prop_assert_eq!(feed(&options, pieces(&text, size), complete), whole);
    }
}
