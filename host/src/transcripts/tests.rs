//! Readers against small logs with the quirks of real ones.
