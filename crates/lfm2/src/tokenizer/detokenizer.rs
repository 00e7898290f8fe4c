//! Bytes of tokens to text, a piece at a time, never half a character.

/// Turns the bytes of successive tokens into valid UTF-8 as early as possible.
///
/// A character that is not complete is held back; a byte that cannot belong to any character
/// becomes U+FFFD, once for each maximal run that began like a character, and the stream goes on.
/// For any way of cutting the bytes, the pieces join to `String::from_utf8_lossy` of the whole.
#[derive(Debug, Clone, Default)]
pub struct Detokenizer {
    /// The beginning of a character: at most three bytes.
    held: Vec<u8>,
}

impl Detokenizer {
    /// With nothing held.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes bytes and appends the text they complete to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        self.held.extend_from_slice(bytes);
        let mut rest = self.held.as_slice();
        let open = loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    out.push_str(text);
                    break 0;
                }
                Err(e) => {
                    let (good, bad) = rest.split_at(e.valid_up_to());
                    // Valid by the error's own account; lossy conversion cannot change it.
                    out.push_str(&String::from_utf8_lossy(good));
                    let Some(len) = e.error_len() else {
                        break bad.len();
                    };
                    out.push(char::REPLACEMENT_CHARACTER);
                    rest = &bad[len..];
                }
            }
        };
        self.held.drain(..self.held.len() - open);
    }

    /// Ends the stream: an unfinished character becomes U+FFFD once.
    pub fn finish(&mut self, out: &mut String) {
        if !self.held.is_empty() {
            self.held.clear();
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// Whether the beginning of a character is held back.
    pub fn is_mid_character(&self) -> bool {
        !self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn feed<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> String {
        let (mut out, mut d) = (String::new(), Detokenizer::new());
        for chunk in chunks {
            d.push(chunk, &mut out);
        }
        d.finish(&mut out);
        out
    }

    #[test]
    fn r22_each_character_cut() {
        let text = "naïve — 東京 👩‍💻 end";
        assert_eq!(feed(text.as_bytes().chunks(1)), text);
        for at in 0..=text.len() {
            let (a, b) = text.as_bytes().split_at(at);
            assert_eq!(feed([a, b]), text);
        }
    }

    #[test]
    fn r22_a_lone_byte_in_the_middle() {
        assert_eq!(feed([&b"ab"[..], b"\xff", b"cd"]), "ab\u{fffd}cd");
        assert_eq!(feed([&b"ab"[..], b"\xe6\x9d", b"cd"]), "ab\u{fffd}cd");
        assert_eq!(feed([&b"\x80"[..], "é".as_bytes()]), "\u{fffd}é");
    }

    #[test]
    fn r22_an_end_inside_a_character() {
        let mut out = String::new();
        let mut d = Detokenizer::new();
        d.push(&"東京".as_bytes()[..5], &mut out);
        assert_eq!(out, "東");
        assert!(d.is_mid_character());
        d.finish(&mut out);
        d.finish(&mut out);
        assert_eq!(out, "東\u{fffd}");
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_lossy_text(
            bytes in prop::collection::vec(
                prop_oneof![Just(0xf0u8), Just(0x9f), Just(0x91), Just(0xe6), Just(0xff), any::<u8>()], 0..40),
            size in 1usize..6,
        ) {
            prop_assert_eq!(feed(bytes.chunks(size)), String::from_utf8_lossy(&bytes));
        }
    }
}
