//! What a plugin says of itself in its file, to be read before any of its code runs.
//!
//! The manifest is a block of bytes behind one exported symbol: a magic, the length of the text in
//! four bytes (little-endian), and the text. A line of the text is a key, a space and a value. This
//! layout never changes, whatever the rest of the ABI does; a reader passes over keys that it does not
//! know. Without pointers in it, the block can be read from the file without loading it.
//!
//! ```text
//! abi 1
//! core 0.1.0
//! rustc rustc 1.95.0 (59807616e 2026-04-14)
//! strategy drop-reasoning
//! version 0.1.0
//! summary drops what the model thought in turns that are over
//! ```

use std::fmt;

use crate::Configure;

/// The symbol that a plugin exports its manifest under.
pub const MANIFEST_SYMBOL: &str = "BRUTE_PLUGIN_MANIFEST";

const MAGIC: [u8; 16] = *b"\x7fbrute plugin\r\n\0";

/// Bytes before the text: the magic and the length.
const HEAD: usize = MAGIC.len() + size_of::<u32>();

/// A manifest is no longer than this; a length beyond it is a broken file.
const LONGEST: usize = 1 << 20;

/// What a plugin says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The ABI that it was built for; see [`VERSION`](super::VERSION).
    pub abi: u32,
    /// The version of this crate that it was built against.
    pub core: String,
    /// The compiler that built it.
    pub rustc: String,
    /// The strategies in it.
    pub strategies: Vec<StrategyManifest>,
}

/// What a plugin says of one of its strategies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrategyManifest {
    /// The name in `brute.toml`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// One line that says what it does.
    pub summary: String,
    /// Whether it asks the summarizer.
    pub needs_summarizer: bool,
}

/// Why bytes are no manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// They do not begin with the magic.
    #[error("it does not begin as a manifest of brute does")]
    NoMagic,
    /// They end too early, or say that they are longer than a manifest can be.
    #[error("its manifest is cut off")]
    CutOff,
    /// The text is not UTF-8, or holds characters that would do something to a terminal.
    #[error("its manifest is not plain text")]
    NotText,
    /// A line that every manifest has is missing or cannot be read.
    #[error("its manifest has no readable `{key}`")]
    Missing {
        /// The key of the line.
        key: &'static str,
    },
}

impl Manifest {
    /// What a plugin would say that was built as this program is. It has no strategies.
    pub fn of_this_crate() -> Self {
        Self {
            abi: super::VERSION,
            core: env!("CARGO_PKG_VERSION").to_owned(),
            rustc: env!("BRUTE_RUSTC").to_owned(),
            strategies: Vec::new(),
        }
    }

    /// The manifest at the start of `bytes`.
    ///
    /// # Errors
    /// If there is none, or if it is not whole.
    pub fn read(bytes: &[u8]) -> Result<Self, ManifestError> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(ManifestError::NoMagic)?;
        let (length, rest) = rest.split_first_chunk().ok_or(ManifestError::CutOff)?;
        let length = u32::from_le_bytes(*length) as usize;
        let text = rest.get(..length).filter(|_| length <= LONGEST);
        let text = text.ok_or(ManifestError::CutOff)?;
        let text = std::str::from_utf8(text).map_err(|_| ManifestError::NotText)?;
        match text.chars().any(|char| char.is_control() && char != '\n') {
            true => Err(ManifestError::NotText),
            false => Self::parse(text),
        }
    }

    fn parse(text: &str) -> Result<Self, ManifestError> {
        let (mut abi, mut core, mut rustc) = (None, None, None);
        let mut strategies: Vec<StrategyManifest> = Vec::new();
        for line in text.lines() {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            let value = value.to_owned();
            match (key, strategies.last_mut()) {
                ("abi", _) => abi = value.parse().ok(),
                ("core", _) => core = Some(value),
                ("rustc", _) => rustc = Some(value),
                ("strategy", _) => strategies.push(StrategyManifest {
                    name: value,
                    version: String::new(),
                    summary: String::new(),
                    needs_summarizer: false,
                }),
                ("version", Some(strategy)) => strategy.version = value,
                ("summary", Some(strategy)) => strategy.summary = value,
                ("needs-summarizer", Some(strategy)) => strategy.needs_summarizer = true,
                _ => {}
            }
        }
        let missing = |key| ManifestError::Missing { key };
        Ok(Self {
            abi: abi.ok_or(missing("abi"))?,
            core: core.ok_or(missing("core"))?,
            rustc: rustc.ok_or(missing("rustc"))?,
            strategies,
        })
    }
}

/// "brute-core 0.2.0 (ABI 1, rustc 1.97.0)".
impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rustc = self.rustc.split(" (").next().unwrap_or_default();
        write!(f, "brute-core {} (ABI {}, {rustc})", self.core, self.abi)
    }
}

/// What the macro knows of a strategy while it compiles.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Entry {
    name: &'static str,
    version: &'static str,
    summary: &'static str,
    needs_summarizer: bool,
}

impl Entry {
    /// The entry of a strategy.
    pub const fn of<T: Configure>() -> Self {
        Self {
            name: T::NAME,
            version: T::VERSION,
            summary: T::SUMMARY,
            needs_summarizer: T::NEEDS_SUMMARIZER,
        }
    }
}

/// The length of the manifest of these strategies, in bytes.
#[doc(hidden)]
pub const fn manifest_len(entries: &[Entry]) -> usize {
    write(entries, Writer::<0>::measuring()).len
}

/// The manifest of these strategies.
#[doc(hidden)]
pub const fn manifest<const N: usize>(entries: &[Entry]) -> [u8; N] {
    write(entries, Writer::<N>::writing()).bytes
}

const fn write<const N: usize>(entries: &[Entry], mut writer: Writer<N>) -> Writer<N> {
    writer.bytes(&MAGIC);
    writer.bytes(&((N.saturating_sub(HEAD)) as u32).to_le_bytes());
    writer.line("abi", super::VERSION_TEXT);
    writer.line("core", env!("CARGO_PKG_VERSION"));
    writer.line("rustc", env!("BRUTE_RUSTC"));
    let mut index = 0;
    while index < entries.len() {
        let entry = &entries[index];
        assert_name(entry.name);
        writer.line("strategy", entry.name);
        writer.line("version", entry.version);
        writer.line("summary", entry.summary);
        if entry.needs_summarizer {
            writer.line("needs-summarizer", "yes");
        }
        index += 1;
    }
    writer
}

/// A compile error of the plugin, where its author sees it.
const fn assert_name(name: &str) {
    let bytes = name.as_bytes();
    assert!(!bytes.is_empty(), "NAME of a strategy must not be empty");
    let mut index = 0;
    while index < bytes.len() {
        assert!(
            matches!(bytes[index], b'a'..=b'z' | b'0'..=b'9' | b'-'),
            "NAME of a strategy must be in kebab-case: small letters, digits and `-`"
        );
        index += 1;
    }
}

/// Writes bytes while the compiler runs; or only counts them.
struct Writer<const N: usize> {
    bytes: [u8; N],
    len: usize,
    only_counts: bool,
}

impl<const N: usize> Writer<N> {
    const fn measuring() -> Self {
        Self { bytes: [0; N], len: 0, only_counts: true }
    }

    const fn writing() -> Self {
        Self { bytes: [0; N], len: 0, only_counts: false }
    }

    const fn line(&mut self, key: &str, value: &str) {
        self.bytes(key.as_bytes());
        self.bytes(b" ");
        let bytes = value.as_bytes();
        let mut index = 0;
        while index < bytes.len() {
            // A compile error of the plugin, where its author sees it.
            assert!(
                !bytes[index].is_ascii_control(),
                "NAME, VERSION and SUMMARY of a strategy must be single lines of plain text"
            );
            index += 1;
        }
        self.bytes(bytes);
        self.bytes(b"\n");
    }

    const fn bytes(&mut self, bytes: &[u8]) {
        let mut index = 0;
        while index < bytes.len() {
            if !self.only_counts {
                self.bytes[self.len] = bytes[index];
            }
            self.len += 1;
            index += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRIES: &[Entry] = &[
        Entry { name: "one", version: "1.2.3", summary: "does one thing", needs_summarizer: false },
        Entry { name: "two", version: "0.1.0", summary: "", needs_summarizer: true },
    ];
    static BYTES: [u8; manifest_len(ENTRIES)] = manifest(ENTRIES);

    #[test]
    fn what_is_written_is_read() {
        let manifest = Manifest::read(&BYTES).unwrap();
        assert_eq!(manifest.abi, super::super::VERSION);
        assert_eq!(manifest.core, env!("CARGO_PKG_VERSION"));
        assert!(manifest.rustc.starts_with("rustc "), "{}", manifest.rustc);
        let names: Vec<_> = manifest.strategies.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["one", "two"]);
        assert_eq!(manifest.strategies[0].summary, "does one thing");
        assert_eq!(manifest.strategies[0].version, "1.2.3");
        assert!(!manifest.strategies[0].needs_summarizer);
        assert!(manifest.strategies[1].needs_summarizer);
    }

    #[test]
    fn bytes_behind_it_and_unknown_keys_do_no_harm() {
        let text = "abi 7\nfuture thing\ncore 9.0\nrustc x\nstrategy a\nnew\nversion 1\n";
        let mut bytes = MAGIC.to_vec();
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(b"\xff\xffwhatever");
        let manifest = Manifest::read(&bytes).unwrap();
        assert_eq!((manifest.abi, manifest.core.as_str()), (7, "9.0"));
        assert_eq!(manifest.strategies[0].version, "1");
    }

    #[test]
    fn every_cut_is_told() {
        for end in 0..BYTES.len() {
            let error = Manifest::read(&BYTES[..end]).unwrap_err();
            let expected =
                if end < MAGIC.len() { ManifestError::NoMagic } else { ManifestError::CutOff };
            assert_eq!(error, expected, "{end}");
        }
    }

    #[test]
    fn what_would_do_something_to_a_terminal_is_refused() {
        for summary in ["\u{1b}[2K", "a\rb", "\u{9b}8m", "a\tb"] {
            let text = format!("abi 1\ncore 0.1.0\nrustc x\nstrategy a\nsummary {summary}\n");
            let mut bytes = MAGIC.to_vec();
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
            assert_eq!(Manifest::read(&bytes), Err(ManifestError::NotText), "{summary:?}");
        }
    }

    #[test]
    fn a_line_that_is_missing_is_named() {
        for (text, key) in [("", "abi"), ("abi x\n", "abi"), ("abi 1\n", "core")] {
            assert_eq!(Manifest::parse(text), Err(ManifestError::Missing { key }), "{text}");
        }
    }
}
