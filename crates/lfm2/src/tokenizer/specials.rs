//! Added tokens: found in trusted text before anything else is tokenised.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

/// A token that is matched as a whole in text, outside the BPE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedToken {
    /// Its id.
    pub id: u32,
    /// Its spelling.
    pub content: String,
    /// A control token; otherwise a piece of text that merely has its own id (`<think>`).
    pub special: bool,
    /// Swallows white space before it.
    pub lstrip: bool,
    /// Swallows white space behind it.
    pub rstrip: bool,
    /// Only matches where no word character touches it.
    pub single_word: bool,
    /// Matched in a second pass, behind all tokens that are not.
    pub normalized: bool,
}

/// An occurrence of an added token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) id: u32,
}

/// The added tokens of one tokenizer.
#[derive(Debug)]
pub(super) struct Specials {
    tokens: Vec<AddedToken>,
    passes: Vec<Pass>,
}

#[derive(Debug)]
struct Pass {
    finder: AhoCorasick,
    /// Index into the tokens, by pattern number.
    token: Vec<usize>,
}

impl Specials {
    pub(super) fn new(tokens: Vec<AddedToken>) -> Result<Self, String> {
        let mut passes = Vec::new();
        for normalized in [false, true] {
            let token: Vec<usize> = (0..tokens.len())
                .filter(|&i| tokens[i].normalized == normalized && !tokens[i].content.is_empty())
                .collect();
            if token.is_empty() {
                continue;
            }
            let finder = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(token.iter().map(|&i| &tokens[i].content))
                .map_err(|e| format!("its added tokens cannot be searched for: {e}"))?;
            passes.push(Pass { finder, token });
        }
        Ok(Self { tokens, passes })
    }

    pub(super) fn tokens(&self) -> &[AddedToken] {
        &self.tokens
    }

    pub(super) fn id(&self, content: &str) -> Option<u32> {
        let found = self.tokens.iter().find(|t| t.content == content);
        found.map(|t| t.id)
    }

    /// Where added tokens stand in `text`, in order. None spans a barrier.
    pub(super) fn find(&self, text: &str, barriers: &[usize]) -> Vec<Cut> {
        let mut cuts: Vec<Cut> = Vec::new();
        for pass in &self.passes {
            let mut found = Vec::new();
            for gap in gaps(&cuts, text.len()) {
                self.search(pass, text, gap, barriers, &mut found);
            }
            cuts.append(&mut found);
            cuts.sort_unstable_by_key(|cut| cut.start);
        }
        cuts
    }

    fn search(
        &self,
        pass: &Pass,
        text: &str,
        gap: Range<usize>,
        barriers: &[usize],
        found: &mut Vec<Cut>,
    ) {
        let first = barriers.partition_point(|b| *b <= gap.start);
        let inner = barriers[first..]
            .iter()
            .copied()
            .take_while(|b| *b < gap.end);
        let (mut from, mut taken) = (gap.start, gap.start);
        for to in inner.chain([gap.end]) {
            for hit in pass.finder.find_iter(&text[from..to]) {
                let token = &self.tokens[pass.token[hit.pattern().as_usize()]];
                let (mut start, mut end) = (from + hit.start(), from + hit.end());
                // A neighbour's stripping may have eaten into this one.
                if start < taken || (token.single_word && in_word(text, start, end)) {
                    continue;
                }
                if token.lstrip {
                    start = taken + text[taken..start].trim_end().len();
                }
                if token.rstrip {
                    let tail = &text[end..gap.end];
                    end += tail.len() - tail.trim_start().len();
                }
                taken = end;
                found.push(Cut {
                    start,
                    end,
                    id: token.id,
                });
            }
            from = to;
        }
    }
}

fn gaps(cuts: &[Cut], len: usize) -> Vec<Range<usize>> {
    let mut from = 0;
    let mut gaps = Vec::with_capacity(cuts.len() + 1);
    for cut in cuts {
        gaps.push(from..cut.start);
        from = cut.end;
    }
    gaps.push(from..len);
    gaps
}

fn in_word(text: &str, start: usize, end: usize) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    text[..start].chars().next_back().is_some_and(word)
        || text[end..].chars().next().is_some_and(word)
}
