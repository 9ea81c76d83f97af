//! Programs that embed brute (`examples/`), sample sessions (`sessions/`), ladders to start from
//! (`ladders/`). The library itself only says where the samples are.

use std::path::{Path, PathBuf};

/// The folder of the sample sessions.
pub fn sessions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions")
}

/// The folder of the ladders to start from.
pub fn ladders() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ladders")
}
