//! Files that are no plugins, and whom is trusted. Real libraries are in `tests/plugins.rs`.
