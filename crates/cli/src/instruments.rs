//! What `molten roofline` and `molten bench` share: the arithmetic, the records, the measurements.

pub(crate) mod ab;
pub(crate) mod chart;
pub(crate) mod child;
pub(crate) mod compare;
pub(crate) mod device;
pub(crate) mod gate;
pub(crate) mod machine;
pub(crate) mod measure;
pub(crate) mod plot;
pub(crate) mod record;
pub(crate) mod stats;
pub(crate) mod subject;
pub(crate) mod sustained;
