//! The bytes of a library: whether it is whole and for this machine, and where its manifest is.

use std::fs;
use std::path::Path;

use brute_core::abi::{MANIFEST_SYMBOL, Manifest};
use object::{
    Architecture, BinaryFormat, ExportTarget, NameOrOrdinal, Object, ObjectKind, ObjectSection,
    ObjectSegment,
};

use super::file::unfit;
use super::{Digest, FileError, PluginFile};

/// Bytes that no library has: whoever names a larger file does not have it read.
const LARGEST: u64 = 1 << 30;

impl PluginFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If it is no whole plugin for this machine.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let path = fs::canonicalize(path)?;
        let metadata = fs::metadata(&path)?;
        // Files of the system that are never done are of no size, too.
        let empty = (metadata.len() == 0).then_some("it is empty");
        if let Some(why) = unfit(&metadata, LARGEST).or(empty) {
            return Err(FileError::NotALibrary(why.to_owned()));
        }
        let bytes = fs::read(&path)?;
        let manifest = Manifest::read(manifest_bytes(&bytes)?)?;
        Ok(Self { path, digest: Digest::of(&bytes), manifest })
    }
}

/// What stands behind the symbol of the manifest, to the end of its section.
fn manifest_bytes(bytes: &[u8]) -> Result<&[u8], FileError> {
    let library = object::File::parse(bytes).map_err(|error| not_whole(bytes, &error))?;
    is_for_here(&library)?;
    is_whole(&library, bytes.len() as u64)?;
    let unreadable = |error: object::Error| FileError::NotALibrary(error.to_string());
    let exports = library.exports().map_err(unreadable)?;
    let mut address = None;
    for export in exports {
        let export = export.map_err(unreadable)?;
        if let (NameOrOrdinal::Name(name), ExportTarget::Address { address: found }) =
            (export.name(), export.target())
            // Mach-O puts an underscore before every symbol of C.
            && name.strip_prefix(b"_").unwrap_or(name) == MANIFEST_SYMBOL.as_bytes()
        {
            address = Some(found);
        }
    }
    let address = address.ok_or(FileError::NotAPlugin)?;
    let holds = |section: &object::Section<'_, '_>| {
        address.checked_sub(section.address()).is_some_and(|offset| offset < section.size())
    };
    let section = library.sections().find(holds).ok_or(FileError::NotAPlugin)?;
    let data = section.data().map_err(unreadable)?;
    let offset = usize::try_from(address - section.address()).unwrap_or(usize::MAX);
    data.get(offset..).ok_or(FileError::CutOff)
}

fn not_whole(bytes: &[u8], error: &object::Error) -> FileError {
    // The tables of sections stand at the end of a file, so this is how a cut shows.
    match object::FileKind::parse(bytes) {
        Ok(_) => FileError::CutOff,
        Err(_) => FileError::NotALibrary(error.to_string()),
    }
}

fn is_for_here(library: &object::File<'_>) -> Result<(), FileError> {
    if library.kind() != ObjectKind::Dynamic {
        return Err(FileError::NotALibrary(format!("its kind is {:?}", library.kind())));
    }
    let format = if cfg!(windows) {
        BinaryFormat::Pe
    } else if cfg!(target_vendor = "apple") {
        BinaryFormat::MachO
    } else {
        BinaryFormat::Elf
    };
    let architecture = match std::env::consts::ARCH {
        "x86_64" => Some(Architecture::X86_64),
        "aarch64" => Some(Architecture::Aarch64),
        "x86" => Some(Architecture::I386),
        "arm" => Some(Architecture::Arm),
        "riscv64" => Some(Architecture::Riscv64),
        _ => None,
    };
    let found = (library.format(), library.architecture());
    let expected = (format, architecture.unwrap_or(found.1));
    let machine = |(format, architecture)| format!("{architecture:?} ({format:?})").to_lowercase();
    match found == expected {
        true => Ok(()),
        false => {
            Err(FileError::OtherMachine { found: machine(found), expected: machine(expected) })
        }
    }
}

/// Mapping what lies beyond the end of a file kills the process that touches it.
fn is_whole(library: &object::File<'_>, len: u64) -> Result<(), FileError> {
    let within =
        |(offset, size): (u64, u64)| offset.checked_add(size).is_some_and(|end| end <= len);
    let segments = library.segments().map(|segment| segment.file_range());
    let sections = library.sections().filter_map(|section| section.file_range());
    match segments.chain(sections).all(within) {
        true => Ok(()),
        false => Err(FileError::CutOff),
    }
}
