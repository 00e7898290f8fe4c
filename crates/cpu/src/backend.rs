//! The engine's border, on this device.

use std::ops::Range;

use engine::sampler::{log_sum_exp, top_logprobs};
use engine::{
    Backend, Cancel, Capabilities, Control, Decode, DeviceInfo, DeviceKind, Error, Finish, Flow,
    PAGE, Result, Scores, Token, TokenSink, Want,
};
use lfm2::weights::WeightSource;

use crate::Isa;
use crate::forward::{CHUNK, Context, Precision, Scratch, Wanted, chunk, step};
use crate::model::Model;
use crate::state::{Memory, State};
use crate::team::{Team, allowed_processors};

/// How to set the backend up.
#[derive(Debug, Clone)]
pub struct Options {
    /// Threads; `None` takes every processor this process may use.
    pub threads: Option<usize>,
    /// Instruction set path; `None` takes the best.
    pub isa: Option<Isa>,
    /// Most tokens of a sequence.
    pub context: usize,
    /// How activations meet quantised weights.
    pub precision: Precision,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: None,
            isa: None,
            context: 4096,
            precision: Precision::default(),
        }
    }
}

/// A model on this machine's processor.
#[derive(Debug)]
pub struct Cpu {
    device: DeviceInfo,
    team: Team,
    isa: Isa,
    precision: Precision,
    model: Model,
    memory: Memory,
    scratch: Scratch,
    context: usize,
}

impl Cpu {
    /// Packs the model's weights for this processor.
    ///
    /// # Errors
    /// When the weights cannot be read or the requested path is not there.
    pub fn new(
        source: &dyn WeightSource,
        options: &Options,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self> {
        let isa = options.isa.unwrap_or_else(Isa::detect);
        if !isa.is_available() {
            return Err(Error::Input(format!(
                "this processor has no {}; available: {}",
                isa.name(),
                Isa::available()
                    .iter()
                    .map(|i| i.name())
                    .collect::<Vec<_>>()
                    .join(", ")
            )));
        }
        if options.context == 0 {
            return Err(Error::Input(
                "a context of 0 tokens holds nothing; give at least 1".to_owned(),
            ));
        }
        let threads = options
            .threads
            .unwrap_or_else(|| allowed_processors().len())
            .clamp(1, 512);
        let team = Team::new(threads);
        let model = Model::load(source, &team, progress)?;
        // Room for the sequence in use and for a fork of it.
        let pages = 2 * options.context.div_ceil(PAGE) + 1;
        Ok(Self {
            device: DeviceInfo {
                kind: DeviceKind::Cpu,
                name: processor_name(),
                isa: isa.name().to_owned(),
                threads: Some(team.threads()),
            },
            memory: Memory::new(&model.config, pages),
            team,
            isa,
            precision: options.precision,
            model,
            scratch: Scratch::default(),
            context: options.context,
        })
    }

    /// Bytes of packed weights.
    pub fn weight_bytes(&self) -> usize {
        self.model.bytes()
    }

    /// Feeds `tokens` chunk by chunk, each ending at the latest on a multiple of [`CHUNK`]. `wanted` says which
    /// logits (by index in `tokens`) to collect. Returns the tokens taken.
    fn feed(
        &mut self,
        s: &mut State,
        tokens: &[u32],
        cancel: &Cancel,
        rows: &dyn Fn(usize) -> bool,
        on_rows: &mut dyn FnMut(usize, &[f32]),
        progress: &mut dyn FnMut(usize),
    ) -> Result<usize> {
        self.check(s, tokens)?;
        let cx = Context {
            team: &self.team,
            isa: self.isa,
            precision: self.precision,
        };
        let vocab = self.model.config.vocab_size;
        let mut done = 0;
        s.pending = false;
        while done < tokens.len() {
            let upto = |border: usize| (border - s.position % border).min(tokens.len() - done);
            let mut n = upto(CHUNK);
            let mut at: Vec<usize> = (0..n).filter(|i| rows(done + i)).collect();
            if at.len() > PAGE {
                // Whole rows of logits for a large chunk would take more memory than the model's own state.
                n = upto(PAGE);
                at.retain(|i| *i < n);
            }
            let wanted = if at.is_empty() {
                Wanted::Nothing
            } else {
                Wanted::Rows(&at)
            };
            let part = &tokens[done..done + n];
            let out = chunk(
                &cx,
                &self.model,
                &mut self.memory,
                s,
                &mut self.scratch,
                part,
                &wanted,
                cancel,
            )?;
            let Some(out) = out else { return Ok(done) };
            for (i, row) in at.iter().zip(out.chunks_exact(vocab)) {
                on_rows(done + i, row);
            }
            done += n;
            progress(done);
        }
        Ok(done)
    }

    fn check(&self, s: &State, tokens: &[u32]) -> Result<()> {
        let need = s.position + tokens.len();
        if need > self.context {
            return Err(Error::Context {
                need,
                have: self.context,
            });
        }
        let vocab = self.model.config.vocab_size;
        match tokens.iter().find(|t| **t as usize >= vocab) {
            Some(t) => Err(Error::Input(format!(
                "token {t} is outside the vocabulary of {vocab}"
            ))),
            None => Ok(()),
        }
    }

    /// Feeds one token and leaves its logits pending.
    fn step(&mut self, s: &mut State, token: u32) -> Result<()> {
        if !step::fits(&self.model.config) {
            return self
                .advance(s, &[token], &Cancel::default(), &mut |_| {})
                .map(drop);
        }
        self.check(s, &[token])?;
        let cx = Context {
            team: &self.team,
            isa: self.isa,
            precision: self.precision,
        };
        s.pending = false;
        let mut logits = std::mem::take(&mut s.logits);
        let done = step::step(
            &cx,
            &self.model,
            &mut self.memory,
            s,
            &mut self.scratch.step,
            token,
            &mut logits,
        );
        s.logits = logits;
        done?;
        s.pending = true;
        Ok(())
    }

    /// Feeds tokens and leaves the last one's logits pending.
    fn advance(
        &mut self,
        s: &mut State,
        tokens: &[u32],
        cancel: &Cancel,
        progress: &mut dyn FnMut(usize),
    ) -> Result<usize> {
        let mut logits = std::mem::take(&mut s.logits);
        let last = tokens.len().wrapping_sub(1);
        let taken = self.feed(
            s,
            tokens,
            cancel,
            &|i| i == last,
            &mut |_, row| {
                logits.clear();
                logits.extend_from_slice(row);
            },
            progress,
        );
        s.logits = logits;
        let taken = taken?;
        s.pending = taken == tokens.len() && taken > 0;
        Ok(taken)
    }
}

impl Backend for Cpu {
    type State = State;

    fn device(&self) -> &DeviceInfo {
        &self.device
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn context(&self) -> usize {
        self.context
    }

    fn vocab_size(&self) -> usize {
        self.model.config.vocab_size
    }

    fn create(&mut self) -> Result<State> {
        Ok(self.memory.create())
    }

    fn position(&self, s: &State) -> usize {
        s.position
    }

    fn prefill(&mut self, s: &mut State, tokens: &[u32], c: &mut Control<'_>) -> Result<usize> {
        if tokens.is_empty() {
            return Ok(0);
        }
        let mut ignore = |_| {};
        let progress: &mut dyn FnMut(usize) = match &mut c.progress {
            Some(p) => &mut **p,
            None => &mut ignore,
        };
        self.advance(s, tokens, &c.cancel, progress)
    }

    fn decode(
        &mut self,
        s: &mut State,
        d: &mut Decode<'_>,
        sink: &mut dyn TokenSink,
    ) -> Result<Finish> {
        if !s.pending {
            return Err(Error::NoLogits);
        }
        let mut left = d.budget.min(self.context - s.position);
        let mut work = Vec::new();
        let mut mask = vec![0_u32; self.model.config.vocab_size.div_ceil(32)];
        while left > 0 {
            if d.cancel.is_cancelled() {
                s.pending = false;
                return Ok(Finish::Cancelled);
            }
            work.clone_from(&s.logits);
            if let Some(m) = &mut d.mask
                && m.mask(&mut mask)?
            {
                for (i, l) in work.iter_mut().enumerate() {
                    if mask[i / 32] >> (i % 32) & 1 == 0 {
                        *l = f32::NEG_INFINITY;
                    }
                }
            }
            let id = d.sampler.pick(&mut work);
            if let Some(m) = &mut d.mask {
                m.accept(id)?;
            }
            if d.stop.contains(&id) {
                return Ok(Finish::Stop(id));
            }
            let token = Token {
                id,
                logprob: d
                    .top_logprobs
                    .map(|_| s.logits[id as usize] - log_sum_exp(&s.logits)),
                top: d
                    .top_logprobs
                    .map_or_else(Vec::new, |k| top_logprobs(&s.logits, k)),
            };
            let flow = sink.push(std::slice::from_ref(&token));
            if flow == (Flow::Stop { keep: 0 }) {
                s.pending = false;
                return Ok(Finish::Sink);
            }
            d.sampler.record(id);
            // The token is the caller's now, so it is fed even if the caller cancels meanwhile.
            self.step(s, id)?;
            if flow != Flow::Continue {
                s.pending = false;
                return Ok(Finish::Sink);
            }
            left -= 1;
        }
        Ok(Finish::Budget)
    }

    fn score(&mut self, s: &mut State, tokens: &[u32], want: Want<'_>) -> Result<Scores> {
        let mut scores = Scores::default();
        let mut last = Vec::new();
        let taken = self.feed(
            s,
            tokens,
            &Cancel::default(),
            &|i| match want {
                Want::Rows(at) => at.contains(&i) || i + 1 == tokens.len(),
                _ => true,
            },
            &mut |i, row| {
                match want {
                    Want::LogProbs => {
                        if let Some(t) = tokens.get(i + 1) {
                            scores.logprobs.push(row[*t as usize] - log_sum_exp(row));
                        }
                    }
                    Want::Top(k) => scores.top.push(top_logprobs(row, k)),
                    Want::Rows(at) if at.contains(&i) => scores.rows.extend_from_slice(row),
                    Want::Rows(_) => {}
                }
                if i + 1 == tokens.len() {
                    last = row.to_vec();
                }
            },
            &mut |_| {},
        )?;
        s.logits = last;
        s.pending = taken > 0;
        Ok(scores)
    }

    fn hidden(&mut self, s: &mut State, tokens: &[u32]) -> Result<Vec<f32>> {
        self.check(s, tokens)?;
        let cx = Context {
            team: &self.team,
            isa: self.isa,
            precision: self.precision,
        };
        s.pending = false;
        let mut out = Vec::new();
        let mut rest = tokens;
        while !rest.is_empty() {
            let (part, more) = rest.split_at((CHUNK - s.position % CHUNK).min(rest.len()));
            let scratch = &mut self.scratch;
            let h = chunk(
                &cx,
                &self.model,
                &mut self.memory,
                s,
                scratch,
                part,
                &Wanted::Hidden,
                &Cancel::default(),
            )?;
            out.extend(h.unwrap_or_default());
            rest = more;
        }
        Ok(out)
    }

    fn fork(&mut self, s: &State, at: usize) -> Result<State> {
        Ok(self.memory.fork(s, at))
    }

    fn export(&mut self, s: &State, pages: Range<usize>) -> Result<Vec<u8>> {
        self.memory.export(s, pages)
    }

    fn import(&mut self, s: &mut State, bytes: &[u8]) -> Result<()> {
        if s.position + bytes.len() / self.memory.export_len().max(1) * PAGE > self.context {
            return Err(Error::Input(
                "the saved session is longer than this context".to_owned(),
            ));
        }
        self.memory.import(s, bytes)
    }
}

/// The processor's name as the system knows it.
pub fn processor_name() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    cpuinfo
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split_once(':'))
        .map_or_else(
            || std::env::consts::ARCH.to_owned(),
            |(_, name)| name.trim().to_owned(),
        )
}
