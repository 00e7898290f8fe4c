//! A Jinja environment that behaves like the one Hugging Face transformers renders with.
//!
//! Known differences, none of which a template of the family meets: `~` and `join` write floats of
//! 1e16 and more without an exponent, and integers beyond 64 bits are floats.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};

use super::clock;
use crate::python;

/// A render that takes more steps than this is not one of a conversation.
const FUEL: u64 = 50_000_000;

/// An environment without templates.
pub(super) fn environment() -> Environment<'static> {
    let mut env = Environment::new();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build();
    // Only changed delimiters can fail to build, and none is.
    env.set_syntax(syntax.unwrap_or_default());
    env.set_undefined_behavior(UndefinedBehavior::Lenient);
    env.set_auto_escape_callback(|_| AutoEscape::None);
    env.set_fuel(Some(FUEL));
    env.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    env.set_formatter(|out, _state, value| {
        out.write_str(&python_str(value)?)?;
        Ok(())
    });
    env.add_filter("string", |value: Value| python_str(&value));
    env.add_filter("tojson", tojson);
    env.add_filter("trim", trim);
    // minijinja lets a template loop over none; Python does not call that iterable.
    env.add_test("iterable", |value: &Value| {
        use ValueKind::{Iterable, Map, Seq, String, Undefined};
        matches!(value.kind(), Iterable | Map | Seq | String | Undefined)
    });
    env.add_function(
        "raise_exception",
        |message: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        },
    );
    env
}

/// Adds the clock, which reads `seconds` since 1970.
pub(super) fn set_clock(env: &mut Environment<'_>, seconds: i64) {
    env.add_function("strftime_now", move |format: String| {
        clock::strftime(seconds, &format)
    });
}

fn json(value: &Value) -> Result<serde_json::Value, Error> {
    serde_json::to_value(value).map_err(|e| {
        Error::new(ErrorKind::BadSerialization, "value has no JSON form").with_source(e)
    })
}

fn python_str(value: &Value) -> Result<String, Error> {
    match value.kind() {
        ValueKind::Number | ValueKind::Seq | ValueKind::Map => Ok(python::str(&json(value)?)),
        _ => Ok(value.to_string()),
    }
}

// minijinja calls filters with owned arguments.
#[allow(clippy::needless_pass_by_value)]
fn tojson(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    // Python's other spellings of the same default.
    for name in ["ensure_ascii", "separators", "sort_keys"] {
        let _: Option<Value> = options.get(name)?;
    }
    options.assert_all_used()?;
    Ok(python::dumps(
        &json(value)?,
        indent.map(|width| width.min(16)),
    ))
}

/// Python's `str.strip`: four control characters count as white space.
#[allow(clippy::needless_pass_by_value)]
fn trim(value: &Value, chars: Option<String>) -> Result<String, Error> {
    let text = python_str(value)?;
    let strip = |c: char| match &chars {
        Some(chars) => chars.contains(c),
        None => c.is_whitespace() || ('\x1c'..='\x1f').contains(&c),
    };
    Ok(text.trim_matches(strip).to_owned())
}

/// Turns `{% generation %}` blocks, which only mark a region for training, into plain scopes.
pub(super) fn without_generation_blocks(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let Some(end) = tag.find("%}") else {
            rest = tag;
            break;
        };
        let (tag, after) = tag.split_at(end + 2);
        let inner = &tag[2..tag.len() - 2];
        let word = inner.trim_matches(|c: char| c.is_whitespace() || c == '-' || c == '+');
        let replaced = match word {
            "generation" => Some("if true"),
            "endgeneration" => Some("endif"),
            _ => None,
        };
        match replaced {
            Some(with) => out.push_str(&tag.replacen(word, with, 1)),
            None => out.push_str(tag),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str) -> String {
        let mut env = environment();
        set_clock(&mut env, 0);
        let ctx = minijinja::context! {
            v => minijinja::value::Serde(serde_json::json!({"b": 1.0, "a": [true, null, 1e20, "x'y"], "é<": "<&'\""})),
        };
        let source = without_generation_blocks(source);
        env.render_str(&source, ctx)
            .unwrap_or_else(|e| format!("{e:#}"))
    }

    #[test]
    fn python_spelling() {
        assert_eq!(
            render("{{ v | tojson }}"),
            r#"{"b": 1.0, "a": [true, null, 1e+20, "x'y"], "é<": "<&'\""}"#
        );
        assert_eq!(
            render("{{ v }}|{{ v.a[0] | string }}|{{ v.b ~ none ~ true }}"),
            r#"{'b': 1.0, 'a': [True, None, 1e+20, "x'y"], 'é<': '<&\'"'}|True|1.0NoneTrue"#
        );
        assert_eq!(
            render("{{ [] | tojson(indent=2) }}{{ ' \x1f x ' | trim }}"),
            "[]x"
        );
        assert_eq!(
            render("{{ 'a</think> b'.split('</think>')[-1] | trim }}"),
            "b"
        );
        assert_eq!(render("{{ 'xyz'[:-1] ~ 'abc'.endswith('c') }}"), "xyTrue");
        assert_eq!(
            render("{% for k, x in v.items() %}{{ k }},{% endfor %}"),
            "b,a,é<,"
        );
        assert_eq!(
            render("{{ v.get('zz') is none }}{{ v.zz is defined }}"),
            "TrueFalse"
        );
        assert_eq!(
            render("{{ none is iterable }}{{ [] is iterable }}"),
            "FalseTrue"
        );
        assert_eq!(render("{{ strftime_now('%Y-%m-%d') }}"), "1970-01-01");
    }

    #[test]
    fn white_space_control() {
        assert_eq!(
            render("a\n  {% if true %}\n b\n  {% endif %}\nc\n"),
            "a\n b\nc"
        );
        assert_eq!(
            render(
                "a\n{%- generation -%}\n b \n{%- endgeneration -%}\n c{% generation %}d{% endgeneration %}"
            ),
            "abcd"
        );
    }

    #[test]
    fn hostile_templates_end() {
        assert!(
            render(
                "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}"
            )
            .contains("fuel")
        );
        assert!(render("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}").contains("recursion"));
        assert!(render("{{ raise_exception('no such thing') }}").contains("no such thing"));
        assert!(render("{% generation").contains("syntax error"));
    }
}
