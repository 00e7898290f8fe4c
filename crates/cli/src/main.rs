//! The `molten` binary.
fn main() {}
