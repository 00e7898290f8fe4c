//! The inside of one block of calls, read as a whole.
//!
//! Each call is first read strictly. Where that fails, a ladder of repairs is tried: another
//! reading of its quotes, if exactly one makes sense; a missing last parenthesis; and at last the
//! call is given up as text while its siblings are kept.

use serde_json::{Map, Value};

use super::Tool;
use super::literal::{Closers, Fault, Reader};

/// A call that was read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parsed {
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
}

/// A part of a block.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    Call(Parsed),
    /// Text that is no call.
    Raw(String),
}

/// How far repairs may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// Only what can be read without guessing: for text that may be no call, or was cut off.
    Strict,
    /// The whole ladder.
    Repair,
}

/// Bytes that quote repair may read in one block, all attempts together.
const REPAIR_BYTES: usize = 4 << 20;
/// Different readings after which a call counts as ambiguous.
const MAX_READINGS: usize = 8;
/// Places where a broken call may end that are looked at.
const MAX_ENDS: usize = 32;

/// Reads a block. If no call is found in it, the result is its text as one raw item.
pub(super) fn parse(text: &str, tools: &[Tool], effort: Effort) -> Vec<Item> {
    parse_pinned(text, tools, effort, &|_, _| true)
}

/// As [`parse`], with only such readings of the call at an offset as `fits` admits.
pub(super) fn parse_pinned(
    text: &str,
    tools: &[Tool],
    effort: Effort,
    fits: &dyn Fn(usize, &Parsed) -> bool,
) -> Vec<Item> {
    let mut budget = REPAIR_BYTES;
    let (mut items, mut pos) = (Vec::new(), 0);
    loop {
        pos += between(&text[pos..]);
        let rest = &text[pos..];
        if rest.is_empty() {
            break;
        }
        let mut reader = Reader::new(rest);
        let found = match (item(&mut reader, tools), effort) {
            (Ok(call), _) if followed_well(reader.rest()) => {
                fits(pos, &call).then_some((call, reader.pos))
            }
            // Its form is right; another reading would only hide what is wrong with it.
            (Err(Fault::Meaning), _) | (_, Effort::Strict) => None,
            (_, Effort::Repair) => repair(rest, tools, &mut budget, &|call| fits(pos, call)),
        };
        if let Some((call, len)) = found {
            items.push(Item::Call(call));
            pos += len;
        } else {
            let len = ends(rest).first().copied().unwrap_or(rest.len());
            let raw = rest[..len].trim_end_matches(separates);
            items.push(Item::Raw(raw.to_owned()));
            pos += len;
        }
    }
    if !items.is_empty() && !items.iter().any(|item| matches!(item, Item::Call(_))) {
        items = vec![Item::Raw(text.trim().to_owned())];
    }
    items
}

/// Brackets and commas between calls carry nothing that the calls do not.
fn separates(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "[],;".contains(c)
}

/// Length of what separates calls at the start of `text`.
pub(super) fn between(text: &str) -> usize {
    text.len() - text.trim_start_matches(separates).len()
}

/// Whether what follows a call can follow one.
fn followed_well(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.is_empty() || rest.starts_with([',', ';', ']']) || starts_item(rest)
}

pub(super) fn starts_item(text: &str) -> bool {
    if text.starts_with('{') {
        return true;
    }
    let name = name_len(text);
    name > 0 && text[name..].trim_start().starts_with('(')
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || "_.-/:$@".contains(c)
}

/// Length of the function name at the start of `text`.
pub(super) fn name_len(text: &str) -> usize {
    let first = |c: char| c.is_alphanumeric() || c == '_';
    if !text.starts_with(first) {
        return 0;
    }
    text.find(|c| !is_name(c)).unwrap_or(text.len())
}

/// One call, in either form.
pub(super) fn item(reader: &mut Reader<'_>, tools: &[Tool]) -> Result<Parsed, Fault> {
    if reader.peek() == Some('{') {
        reader.json = true;
        let value = reader.value();
        reader.json = false;
        return from_json(value?);
    }
    let name = call_head(reader).ok_or(Fault::Syntax)?;
    let parameters = tools
        .iter()
        .find(|t| t.name == name)
        .map(|t| t.parameters.as_slice());
    let mut arguments = Map::new();
    let mut positional: Vec<Value> = Vec::new();
    loop {
        reader.space();
        if reader.eat(")") {
            break;
        }
        if reader.eat("**") {
            let Value::Object(more) = reader.value()? else {
                return Err(Fault::Syntax);
            };
            for (key, value) in more {
                insert(&mut arguments, key, value)?;
            }
        } else if let Some(key) = keyword(reader) {
            let value = reader.value()?;
            insert(&mut arguments, key, value)?;
        } else {
            positional.push(reader.value()?);
        }
        if !reader.eat(",") && reader.peek() != Some(')') {
            return Err(Fault::Syntax);
        }
    }
    place(positional, parameters, &mut arguments)?;
    Ok(Parsed { name, arguments })
}

/// `name(`, if that is what follows.
pub(super) fn call_head(reader: &mut Reader<'_>) -> Option<String> {
    let name = reader.rest()[..name_len(reader.rest())].to_owned();
    reader.pos += name.len();
    reader.space();
    (!name.is_empty() && reader.eat("(")).then_some(name)
}

/// `key=`, if that is what follows.
pub(super) fn keyword(reader: &mut Reader<'_>) -> Option<String> {
    let rest = reader.rest();
    let len = rest.find(|c: char| !(c.is_alphanumeric() || "_-.$".contains(c)))?;
    let after = rest[len..].trim_start();
    if len == 0 || !after.starts_with('=') || after.starts_with("==") {
        return None;
    }
    reader.pos += rest.len() - after.len() + 1;
    Some(rest[..len].to_owned())
}

fn insert(map: &mut Map<String, Value>, key: String, value: Value) -> Result<(), Fault> {
    // A second value under one name would have to drop the first.
    match map.insert(key, value) {
        None => Ok(()),
        Some(_) => Err(Fault::Meaning),
    }
}

/// Gives positional arguments the names of the tool's parameters. Without those there is no way
/// to keep them, so the call is no call.
fn place(
    mut positional: Vec<Value>,
    parameters: Option<&[String]>,
    arguments: &mut Map<String, Value>,
) -> Result<(), Fault> {
    let parameters = match parameters {
        _ if positional.is_empty() => return Ok(()),
        None => return Err(Fault::Meaning),
        Some(parameters) => parameters,
    };
    if let [Value::Object(only)] = positional.as_mut_slice() {
        // `f({"a": 1})` for `f(a=1)`.
        if arguments.is_empty() && only.keys().all(|key| parameters.contains(key)) {
            *arguments = std::mem::take(only);
            return Ok(());
        }
    }
    if positional.len() > parameters.len() {
        return Err(Fault::Meaning);
    }
    for (key, value) in parameters.iter().zip(positional) {
        insert(arguments, key.clone(), value)?;
    }
    Ok(())
}

/// `{"name": .., "arguments": {..}}` and its relatives.
fn from_json(value: Value) -> Result<Parsed, Fault> {
    let Value::Object(mut fields) = value else {
        return Err(Fault::Meaning);
    };
    fields.shift_remove("id");
    fields.shift_remove("type");
    if let Some(Value::Object(_)) = fields.get("function") {
        let inner = fields.shift_remove("function").unwrap_or_default();
        return if fields.is_empty() {
            from_json(inner)
        } else {
            Err(Fault::Meaning)
        };
    }
    let name = fields
        .shift_remove("name")
        .or_else(|| fields.shift_remove("function"));
    let Some(Value::String(name)) = name else {
        return Err(Fault::Meaning);
    };
    let arguments = fields
        .shift_remove("arguments")
        .or_else(|| fields.shift_remove("parameters"))
        .unwrap_or(Value::Null);
    // A field that is neither would be lost.
    if !fields.is_empty() || name.is_empty() {
        return Err(Fault::Meaning);
    }
    let arguments = match arguments {
        Value::String(text) if text.trim().is_empty() => Value::Null,
        Value::String(text) => serde_json::from_str(&text).map_err(|_| Fault::Meaning)?,
        other => other,
    };
    match arguments {
        Value::Null => Ok(Parsed {
            name,
            arguments: Map::new(),
        }),
        Value::Object(arguments) => Ok(Parsed { name, arguments }),
        _ => Err(Fault::Meaning),
    }
}

/// Where the call at the start of `text` may end: behind a closing bracket that is followed by the
/// end or by another call.
fn ends(text: &str) -> Vec<usize> {
    let close = if text.starts_with('{') { '}' } else { ')' };
    let mut ends = Vec::new();
    for (at, _) in text.match_indices(close) {
        let after = text[at + 1..].trim_start();
        let last = after
            .trim_start_matches(|c: char| c.is_whitespace() || c == ']')
            .is_empty();
        let next = after.strip_prefix([',', ';']).unwrap_or(after).trim_start();
        if last || (starts_item(next) && next.len() < after.len()) {
            ends.push(at + 1);
            if ends.len() == MAX_ENDS {
                break;
            }
        }
    }
    ends
}

/// The repairs for the call at the start of `text`, and where it then ends.
fn repair(
    text: &str,
    tools: &[Tool],
    budget: &mut usize,
    fits: &dyn Fn(&Parsed) -> bool,
) -> Option<(Parsed, usize)> {
    let ends = ends(text);
    for closers in [Closers::Plain, Closers::Escaped] {
        for &end in &ends {
            let mut found = readings(&text[..end], tools, closers, budget);
            found.retain(|call| fits(call));
            if !found.is_empty() {
                return choose(found, tools).map(|call| (call, end));
            }
        }
    }
    // The block is over and only the last parenthesis is missing.
    let body = text.trim_end_matches(|c: char| c.is_whitespace() || c == ']');
    if text.starts_with('{') || body.ends_with([',', '(']) {
        return None;
    }
    let closed = format!("{body})");
    let mut reader = Reader::new(&closed);
    let call = item(&mut reader, tools).ok()?;
    (reader.at_end() && fits(&call)).then_some((call, text.len()))
}

/// All the ways to read `text` as one call, if some quotes inside strings do not end them.
fn readings(text: &str, tools: &[Tool], closers: Closers, budget: &mut usize) -> Vec<Parsed> {
    let (mut found, mut skips): (Vec<Parsed>, Vec<usize>) = (Vec::new(), Vec::new());
    loop {
        if *budget < text.len() {
            // Too many possibilities to know that one is the only one.
            return Vec::new();
        }
        *budget -= text.len().max(64).min(*budget);
        let mut reader = Reader::repairing(text, &skips, closers);
        let result = item(&mut reader, tools);
        let opened = reader.opened;
        let whole = reader.at_end();
        skips.resize(opened, 0);
        match result {
            Ok(call) if whole && !found.contains(&call) => {
                found.push(call);
                if found.len() == MAX_READINGS {
                    return found;
                }
            }
            Err(Fault::Unterminated) => {
                skips.pop();
            }
            _ => {}
        }
        match skips.last_mut() {
            None => return found,
            Some(last) => *last += 1,
        }
    }
}

/// The only reading; or, where the tool's parameters are known, the only one that uses no others
/// and most of them.
fn choose(mut found: Vec<Parsed>, tools: &[Tool]) -> Option<Parsed> {
    if found.len() > 1 {
        found.retain(|call| {
            let known = |t: &&Tool| t.name == call.name;
            let tool = tools.iter().find(known);
            tool.is_some_and(|t| call.arguments.keys().all(|key| t.parameters.contains(key)))
        });
        let most = found.iter().map(|call| call.arguments.len()).max()?;
        found.retain(|call| call.arguments.len() == most);
    }
    if found.len() == 1 { found.pop() } else { None }
}
