//! `molten synth`: a model with random weights.
use crate::Outcome;
use crate::args::Synth;

pub(crate) fn run(_: &Synth) -> Outcome {
    Err(crate::Failure::Usage("pending merge".into()))
}
