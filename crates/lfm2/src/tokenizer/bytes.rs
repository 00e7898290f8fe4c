//! The letters that byte-level BPE vocabularies write bytes with.
//!
//! Printable Latin-1 characters stand for themselves; the other 68 bytes are numbered in order
//! from U+0100 on, so that a vocabulary file holds no space and no control character.

/// Whether a byte is written as the character of the same number.
const fn plain(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff)
}

const LETTERS: [char; 256] = {
    let mut table = ['\0'; 256];
    let (mut byte, mut next) = (0usize, 0x100u32);
    while byte < 256 {
        if plain(byte as u8) {
            table[byte] = byte as u8 as char;
        } else {
            // All of U+0100..U+0144 are characters.
            table[byte] = match char::from_u32(next) {
                Some(c) => c,
                None => '\0',
            };
            next += 1;
        }
        byte += 1;
    }
    table
};

const BYTES: [Option<u8>; 0x144] = {
    let mut table = [None; 0x144];
    let mut byte = 0usize;
    while byte < 256 {
        table[LETTERS[byte] as usize] = Some(byte as u8);
        byte += 1;
    }
    table
};

/// The letter for a byte.
pub(super) fn letter(byte: u8) -> char {
    LETTERS[byte as usize]
}

/// Appends the bytes a vocabulary entry stands for. A character outside the alphabet stands for
/// its own UTF-8 bytes, as in tokens that were added without the mapping.
pub(super) fn decode_into(token: &str, out: &mut Vec<u8>) {
    for c in token.chars() {
        match BYTES.get(c as usize).copied().flatten() {
            Some(byte) => out.push(byte),
            None => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_own_letter() {
        for byte in 0..=255u8 {
            let mut back = Vec::new();
            decode_into(&letter(byte).to_string(), &mut back);
            assert_eq!(back, [byte]);
        }
        assert_eq!((letter(b' '), letter(b'\n'), letter(b'a')), ('Ġ', 'Ċ', 'a'));
    }
}
