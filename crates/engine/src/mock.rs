//! Backends without weights, for tests of everything above the forward pass.

mod asynchronous;
mod scripted;

pub use asynchronous::Asynchronous;
pub use scripted::Scripted;

use crate::backend::{DeviceInfo, DeviceKind};

fn device(name: &str) -> DeviceInfo {
    DeviceInfo {
        kind: DeviceKind::Mock,
        name: name.to_owned(),
        isa: "none".to_owned(),
        threads: None,
    }
}
