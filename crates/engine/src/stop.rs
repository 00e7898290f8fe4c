//! Stop strings in a stream of text.

/// Finds stop strings in text that arrives in pieces. Only a suffix that could still become a stop string
/// is held back; everything else is released at once.
#[derive(Debug, Clone)]
pub struct StopStrings {
    stops: Vec<String>,
    held: String,
}

/// What a piece of text led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopResult {
    /// No stop string yet; this text is safe to show.
    Text(String),
    /// A stop string came up; this text came before it.
    Stopped(String),
}

impl StopStrings {
    /// Empty stop strings are ignored.
    pub fn new(stops: impl IntoIterator<Item = String>) -> Self {
        Self {
            stops: stops.into_iter().filter(|s| !s.is_empty()).collect(),
            held: String::new(),
        }
    }

    /// Takes the next piece.
    pub fn push(&mut self, text: &str) -> StopResult {
        if self.stops.is_empty() {
            return StopResult::Text(text.to_owned());
        }
        self.held.push_str(text);
        // The stop string that ends first wins, as it would if the text came one character at a time;
        // among those that end together, the longest.
        let first = self
            .stops
            .iter()
            .filter_map(|s| self.held.find(s.as_str()).map(|at| (at + s.len(), at)))
            .min();
        if let Some((_, at)) = first {
            self.held.truncate(at);
            return StopResult::Stopped(std::mem::take(&mut self.held));
        }
        let hold = self.open_prefix();
        let tail = self.held.split_off(self.held.len() - hold);
        StopResult::Text(std::mem::replace(&mut self.held, tail))
    }

    /// The text still held back when the stream ends without a stop string.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// Length of the longest suffix of the held text that is a proper prefix of a stop string.
    fn open_prefix(&self) -> usize {
        let longest = self.stops.iter().map(String::len).max().unwrap_or(0);
        (1..longest.min(self.held.len() + 1))
            .rev()
            .filter(|n| self.held.is_char_boundary(self.held.len() - n))
            .find(|n| {
                let tail = &self.held[self.held.len() - n..];
                self.stops
                    .iter()
                    .any(|s| s.len() > tail.len() && s.starts_with(tail))
            })
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `text` cut at the byte positions `cuts` (moved to character borders).
    fn feed(stops: &[&str], text: &str, cuts: &[usize]) -> (String, bool) {
        let mut s = StopStrings::new(stops.iter().map(|s| (*s).to_owned()));
        let mut out = String::new();
        let mut at = 0;
        let mut ends: Vec<usize> = cuts.to_vec();
        ends.push(text.len());
        for end in ends {
            let mut end = end;
            while !text.is_char_boundary(end) {
                end += 1;
            }
            if end < at {
                continue;
            }
            match s.push(&text[at..end]) {
                StopResult::Text(t) => out.push_str(&t),
                StopResult::Stopped(t) => return (out + &t, true),
            }
            at = end;
        }
        (out + &s.finish(), false)
    }

    #[test]
    fn every_cut_gives_the_same_text() {
        let stops = ["gamma delta", "\n\nUser:"];
        for (text, want, stopped) in [
            ("alpha beta gamma delta eps", "alpha beta ", true),
            ("alpha gamma gamma delta", "alpha gamma ", true),
            ("one\n\nUsers\n\nUser: hi", "one\n\nUsers", true),
            ("gamma delt", "gamma delt", false),
            ("naïve — 東京\n\nUse", "naïve — 東京\n\nUse", false),
        ] {
            for a in 0..=text.len() {
                for b in a..=text.len() {
                    assert_eq!(
                        feed(&stops, text, &[a, b]),
                        (want.to_owned(), stopped),
                        "{text} {a} {b}"
                    );
                }
            }
        }
    }

    #[test]
    fn text_is_released_as_soon_as_it_cannot_be_a_stop() {
        let mut s = StopStrings::new(["abc".to_owned()]);
        assert_eq!(s.push("xab"), StopResult::Text("x".to_owned()));
        assert_eq!(s.push("d"), StopResult::Text("abd".to_owned()));
    }

    #[test]
    fn no_stops_and_empty_stops_hold_nothing() {
        let mut s = StopStrings::new([String::new()]);
        assert_eq!(s.push("abc"), StopResult::Text("abc".to_owned()));
    }

    #[test]
    fn the_stop_that_completes_first_wins() {
        assert_eq!(feed(&["bcdefg", "de"], "abcdefg", &[]).0, "abc");
        assert_eq!(feed(&["cde", "bcde"], "abcde", &[]).0, "a");
    }
}
