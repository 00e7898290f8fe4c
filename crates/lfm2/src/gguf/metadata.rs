//! GGUF key–value metadata with typed access.

use crate::error::{Error, Result};

/// A metadata value. Integers keep the width the file gives them; getters widen.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Any unsigned integer type.
    Unsigned(u64),
    /// Any signed integer type.
    Signed(i64),
    /// `f32` or `f64`.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A UTF-8 string.
    String(String),
    /// An array of integers or booleans, widened.
    Integers(Vec<i64>),
    /// An array of floats, widened.
    Floats(Vec<f64>),
    /// An array of strings.
    Strings(Vec<String>),
}

/// The metadata of one file, in file order.
#[derive(Debug, Clone, Default)]
pub struct Metadata {
    /// Where it was read, for messages: `GGUF metadata of PATH`.
    pub origin: String,
    /// Keys and values in file order; keys are unique.
    pub entries: Vec<(String, Value)>,
}

impl Metadata {
    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    fn wrong(&self, key: &str, expected: &str) -> Error {
        let what = match self.get(key) {
            None => format!("missing; expected {expected}"),
            Some(_) => format!("has the wrong type; expected {expected}"),
        };
        Error::config(&self.origin, key, what)
    }

    /// A string.
    pub fn string(&self, key: &str) -> Result<&str> {
        match self.get(key) {
            Some(Value::String(s)) => Ok(s),
            _ => Err(self.wrong(key, "a string")),
        }
    }

    /// A non-negative integer of any width.
    pub fn unsigned(&self, key: &str) -> Result<u64> {
        match self.get(key) {
            Some(Value::Unsigned(v)) => Ok(*v),
            Some(Value::Signed(v)) if *v >= 0 => Ok(*v as u64),
            _ => Err(self.wrong(key, "a non-negative integer")),
        }
    }

    /// A float, or an integer taken as one.
    pub fn float(&self, key: &str) -> Result<f64> {
        match self.get(key) {
            Some(Value::Float(v)) => Ok(*v),
            Some(Value::Unsigned(v)) => Ok(*v as f64),
            Some(Value::Signed(v)) => Ok(*v as f64),
            _ => Err(self.wrong(key, "a number")),
        }
    }

    /// A boolean.
    pub fn bool(&self, key: &str) -> Result<bool> {
        match self.get(key) {
            Some(Value::Bool(v)) => Ok(*v),
            _ => Err(self.wrong(key, "a boolean")),
        }
    }

    /// An array of integers.
    pub fn integers(&self, key: &str) -> Result<&[i64]> {
        match self.get(key) {
            Some(Value::Integers(v)) => Ok(v),
            _ => Err(self.wrong(key, "an array of integers")),
        }
    }

    /// An array of strings.
    pub fn strings(&self, key: &str) -> Result<&[String]> {
        match self.get(key) {
            Some(Value::Strings(v)) => Ok(v),
            _ => Err(self.wrong(key, "an array of strings")),
        }
    }
}
