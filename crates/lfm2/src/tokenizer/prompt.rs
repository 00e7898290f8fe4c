//! Text in which untrusted parts cannot spell special tokens.
//!
//! A chat template mixes its own special tokens with text from users and tools, and may trim,
//! split or join that text first. So the guard does not wrap untrusted text; it drops one
//! *mark* (a character that occurs nowhere else) into every place where a special token could be
//! read, lets the template run, and takes the marks out again, remembering where they were. No
//! special token may span such a *barrier*. Text that spells nothing passes untouched, so the
//! tokens are the same as without a guard.

use std::borrow::Cow;
use std::collections::HashSet;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::error::{Error, Result};

/// A rendered prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    text: String,
    barriers: Vec<usize>,
}

impl Prompt {
    /// A prompt that is trusted throughout.
    pub fn trusted(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            barriers: Vec::new(),
        }
    }

    /// Takes the marks out of a rendered text.
    pub fn from_marked(marked: &str, mark: char) -> Self {
        let mut this = Self::default();
        for (i, part) in marked.split(mark).enumerate() {
            if i > 0 {
                this.barriers.push(this.text.len());
            }
            this.text.push_str(part);
        }
        this.barriers.dedup();
        this
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Byte offsets, rising, that no special token may span.
    pub fn barriers(&self) -> &[usize] {
        &self.barriers
    }
}

/// Knows the spellings of special tokens and marks them in untrusted text.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    spellings: Vec<String>,
    finder: Option<AhoCorasick>,
    /// Proper beginnings and proper endings of the spellings.
    heads: HashSet<String>,
    tails: HashSet<String>,
    longest: usize,
}

/// Unicode's noncharacters for internal use: never valid in interchanged text.
const MARKS: std::ops::RangeInclusive<char> = '\u{fdd0}'..='\u{fdef}';

impl Guard {
    /// A guard against these spellings.
    pub fn new<'a>(spellings: impl IntoIterator<Item = &'a str>) -> Self {
        let spellings: Vec<String> = spellings
            .into_iter()
            .filter(|s| !s.is_empty())
            .map(str::to_owned)
            .collect();
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(&spellings)
            .ok();
        let cuts = || {
            let each = spellings.iter();
            each.flat_map(|s| s.char_indices().skip(1).map(move |(i, _)| s.split_at(i)))
        };
        Self {
            heads: cuts().map(|(head, _)| head.to_owned()).collect(),
            tails: cuts().map(|(_, tail)| tail.to_owned()).collect(),
            longest: spellings.iter().map(String::len).max().unwrap_or(0),
            finder,
            spellings,
        }
    }

    /// A mark that occurs in none of `texts`.
    pub fn choose_mark<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Result<char> {
        let mut free: Vec<char> = MARKS.collect();
        for text in texts {
            // U+FDD0 to U+FDEF all begin with 0xEF 0xB7 in UTF-8: most texts are done at once.
            if text.as_bytes().windows(2).any(|w| w == [0xef, 0xb7]) {
                free.retain(|mark| !text.contains(*mark));
            }
        }
        free.first().copied().ok_or_else(|| {
            Error::Input(
                "the messages use every Unicode noncharacter from U+FDD0 to U+FDEF; remove one"
                    .into(),
            )
        })
    }

    /// `text` with `mark` inside every spelling of a special token, and at an end where a spelling
    /// could be completed by what is written next to it. Spellings for which `keep` holds are left.
    pub fn mark<'t>(&self, text: &'t str, mark: char, keep: impl Fn(&str) -> bool) -> Cow<'t, str> {
        let Some(finder) = &self.finder else {
            return Cow::Borrowed(text);
        };
        let mut places: Vec<usize> = Vec::new();
        for hit in finder.find_overlapping_iter(text) {
            if !keep(&self.spellings[hit.pattern().as_usize()]) {
                let first = text[hit.start()..].chars().next();
                places.push(hit.start() + first.map_or(0, char::len_utf8));
            }
        }
        places.sort_unstable();
        let lengths = 1..self.longest.min(text.len() + 1);
        let head = |n: usize| {
            text.get(text.len() - n..)
                .is_some_and(|t| self.heads.contains(t))
        };
        let tail = |n: usize| text.get(..n).is_some_and(|t| self.tails.contains(t));
        if lengths.clone().any(tail) {
            places.insert(0, 0);
        }
        if lengths.clone().any(head) {
            places.push(text.len());
        }
        if places.is_empty() {
            return Cow::Borrowed(text);
        }
        places.dedup();
        let mut out = String::with_capacity(text.len() + places.len() * mark.len_utf8());
        let mut from = 0;
        for place in places {
            out.push_str(&text[from..place]);
            out.push(mark);
            from = place;
        }
        out.push_str(&text[from..]);
        Cow::Owned(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn barriers(text: &str) -> Vec<usize> {
        let guard = Guard::new(["<|a|>", "<b>"]);
        let marked = guard.mark(text, '\u{fdd0}', |_| false);
        let prompt = Prompt::from_marked(&marked, '\u{fdd0}');
        assert_eq!(prompt.text(), text);
        prompt.barriers().to_vec()
    }

    #[test]
    fn plain_text_is_untouched() {
        assert!(barriers("a < b and c > d; <c> <| |>.").is_empty());
        assert!(barriers("").is_empty());
    }

    #[test]
    fn spellings_and_open_ends_are_marked() {
        assert_eq!(barriers("x<|a|>y<b>"), [2, 8]);
        assert_eq!(barriers("<|a|><|a|>"), [1, 6]);
        assert_eq!(barriers("|> and <|"), [0, 9]);
        assert_eq!(barriers("> quoted"), [0]);
    }

    #[test]
    fn a_mark_in_the_text_is_avoided() {
        let guard = Guard::new(["<b>"]);
        assert_eq!(
            guard.choose_mark(["x\u{fdd0}", "\u{fdd2}"]).ok(),
            Some('\u{fdd1}')
        );
        let all: String = MARKS.collect();
        assert!(guard.choose_mark([all.as_str()]).is_err());
    }
}
