//! Text from tokens.
