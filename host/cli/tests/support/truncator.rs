//! Drives the truncation of tool results.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use brute_core::truncation::{FullText, Keep, Notice};
use brute_host::quantity::ByteSize;
use brute_host::truncation::{TruncateOptions, Truncator};
use serde_json::{Value, json};

use super::expand::bytes_of;
use super::run::{Cut, CutReport, Run};
use super::wire::items;

/// Folders that the settings of a case name by `$TMP` and `$WORKSPACE`.
pub(crate) struct Folders {
    temporary: tempfile::TempDir,
}

impl Folders {
    /// New, empty folders, with the odd things in them that cases name.
    pub(crate) fn new() -> Self {
        let temporary = tempfile::tempdir().expect("a temporary folder");
        let root = temporary.path();
        std::fs::create_dir_all(root.join("workspace")).expect("a folder");
        std::fs::create_dir_all(root.join("readonly_dir")).expect("a folder");
        std::fs::write(root.join("a_file_not_a_dir"), "a file").expect("a file");
        #[cfg(unix)]
        {
            use std::os::unix::fs::{PermissionsExt, symlink};
            let readonly = std::fs::Permissions::from_mode(0o555);
            std::fs::set_permissions(root.join("readonly_dir"), readonly).expect("permissions");
            symlink(root.join("nowhere/at/all"), root.join("dangling_symlink")).expect("a link");
        }
        Self { temporary }
    }

    /// `text` with the names of folders replaced.
    pub(crate) fn fill(&self, text: &str) -> String {
        let root = self.temporary.path();
        let workspace = root.join("workspace");
        text.replace("$TMP", &root.display().to_string())
            .replace("$WORKSPACE", &workspace.display().to_string())
    }

    fn names(&self) -> Value {
        json!({ "TMP": self.fill("$TMP"), "WORKSPACE": self.fill("$WORKSPACE") })
    }
}

/// The section of the configuration that these settings mean.
pub(crate) fn options(settings: &Value, folders: &Folders, mode: &str) -> TruncateOptions {
    let number = |key: &str| settings[key].as_u64();
    let default = TruncateOptions::default();
    TruncateOptions {
        max_lines: number("max_lines").map_or(default.max_lines, |lines| lines as usize),
        max_bytes: number("max_bytes").map_or(default.max_bytes, ByteSize),
        max_line_chars: number("max_line_chars")
            .map_or(default.max_line_chars, |chars| chars as usize),
        keep: if mode == "tail" { Keep::Tail } else { Keep::Head },
        strip_ansi: settings["strip_ansi"].as_bool().unwrap_or(false),
        spill: settings["overflow_dir"].as_str().map(|folder| folders.fill(folder)),
        readable: (items(&settings["readable_dirs"]).iter().filter_map(Value::as_str))
            .map(|folder| folders.fill(folder))
            .collect(),
        ..default
    }
}

/// The truncator of these settings.
pub(crate) fn truncator(
    settings: &Value,
    folders: &Folders,
    mode: &str,
) -> Result<Truncator, String> {
    let options = options(settings, folders, mode);
    let truncator = Truncator::new(options).map_err(|error| error.to_string())?;
    let Some(hook) = settings["redact_hook"].as_str() else { return Ok(truncator) };
    let Some((prefix, sign, count, instead)) = redaction(hook) else {
        return Err(format!("the hook `{hook}` is not understood"));
    };
    let secret = format!("{prefix}{}", sign.to_string().repeat(count));
    Ok(truncator.with_redaction(Arc::new(move |text| text.replace(&secret, &instead).into())))
}

/// Reads `replace /prefix[A]{40}/ by instead`.
fn redaction(hook: &str) -> Option<(String, char, usize, String)> {
    let (pattern, instead) = hook.strip_prefix("replace /")?.split_once("/ by ")?;
    let (prefix, class) = pattern.split_once('[')?;
    let (signs, count) = class.strip_suffix('}')?.split_once("]{")?;
    Some((prefix.into(), signs.chars().next()?, count.parse().ok()?, instead.into()))
}

/// Truncates one text.
pub(crate) fn cut(truncator: &Truncator, mode: &str, input: &[u8]) -> Cut {
    let truncated = truncator.truncate(None, input);
    let mut file = None;
    let report = truncated.cut.map(|cut| {
        let Notice { total_lines, shown, full, .. } = cut.notice;
        let not_saved = match full {
            FullText::Saved(path) => {
                file = Some(PathBuf::from(path));
                None
            }
            kept @ FullText::Kept(_) => {
                file = truncator.spill().file(&kept);
                None
            }
            FullText::NotSaved(reason) => Some(reason),
        };
        CutReport {
            total_lines,
            shown: shown.iter().map(|range| (range.first, range.last)).collect(),
            notice_at: cut.notice_at,
            body: cut.body,
            not_saved,
        }
    });
    Cut {
        mode: mode.into(),
        input: input.to_vec(),
        redacted: None,
        text: truncated.text.into_owned(),
        report,
        file,
        passes: Vec::new(),
        files: (0, 0),
    }
}

fn files_in(folder: Option<&Path>) -> usize {
    folder.and_then(|folder| std::fs::read_dir(folder).ok()).map_or(0, Iterator::count)
}

/// The modes and the texts that a case names.
fn tasks(input: &Value) -> Vec<(String, Vec<u8>)> {
    let mode = input["mode"].as_str().unwrap_or("head");
    let modes: Vec<&str> = match items(&input["modes"]) {
        [] => vec![mode],
        modes => modes.iter().filter_map(Value::as_str).collect(),
    };
    let texts: Vec<&Value> = match input.get("tool_output") {
        Some(text) => vec![text],
        None => items(&input["tool_outputs"]).iter().collect(),
    };
    let each = |mode: &str| -> Vec<(String, Vec<u8>)> {
        texts.iter().map(|text| (mode.to_owned(), bytes_of(text))).collect()
    };
    modes.into_iter().flat_map(each).collect()
}

/// Runs a case with `op` `truncate` or `truncate_chain`.
///
/// # Errors
/// If the settings make no truncator.
pub(crate) fn truncate(input: &Value, settings: &Value, folders: &Folders) -> Result<Run, String> {
    let mut run = Run { settings: settings.clone(), ..Run::default() };
    run.settings["folders"] = folders.names();
    // A case says with its texts whether their sequences are to go.
    let mut settings = settings.clone();
    if let Some(strip) = input.get("strip_ansi") {
        settings["strip_ansi"] = strip.clone();
    }
    let settings = &settings;
    for (mode, text) in tasks(input) {
        let first = truncator(settings, folders, &mode)?;
        let begun = Instant::now();
        let mut one = cut(&first, &mode, &text);
        run.elapsed += begun.elapsed();
        if settings["redact_hook"].is_string() && one.report.is_some() {
            one.redacted = one.saved().map(|saved| String::from_utf8_lossy(&saved).into_owned());
        }
        one.files.0 = files_in(first.spill().path());
        let mut now = one.text.clone();
        for pass in items(&input["then"]) {
            let mut settings = settings.clone();
            for (key, limit) in [("max_bytes", "limit_bytes"), ("max_lines", "limit_lines")] {
                if let Some(limit) = pass[limit].as_u64() {
                    settings[key] = limit.into();
                }
            }
            now = truncator(&settings, folders, &mode)?.truncate(None, now.as_bytes()).text.into();
            one.passes.push(now.clone());
        }
        one.files.1 = files_in(first.spill().path());
        run.cuts.push(one);
    }
    Ok(run)
}

/// Runs a case with `op` `truncate_many`: the same calls again and again, on several threads.
///
/// # Errors
/// If the settings make no truncator.
pub(crate) fn truncate_many(
    input: &Value,
    settings: &Value,
    folders: &Folders,
    raw: &Value,
) -> Result<Run, String> {
    let mut run = Run { settings: settings.clone(), ..Run::default() };
    run.settings["folders"] = folders.names();
    let truncator = truncator(settings, folders, input["mode"].as_str().unwrap_or("head"))?;
    let threads = input["parallel"].as_u64().unwrap_or(1).max(1) as usize;
    let repeat = input["repeat"].as_u64().unwrap_or(1) as usize;
    let calls = items(&raw["calls"]);
    let numbers: Vec<usize> = (0..repeat).collect();
    let begun = Instant::now();
    let work = |numbers: &[usize]| -> Vec<Cut> {
        let one = |number: usize, call: &Value| {
            let text = call["tool_output"].to_string().replace("$CALL", &number.to_string());
            let node = serde_json::from_str(&text).unwrap_or_default();
            let text = bytes_of(&super::expand::expand(&node, &Default::default()));
            cut(&truncator, "head", &text)
        };
        let each = |number: &usize| calls.iter().map(|call| one(*number, call)).collect::<Vec<_>>();
        numbers.iter().flat_map(each).collect()
    };
    run.cuts = std::thread::scope(|scope| {
        let pieces = numbers.chunks(repeat.div_ceil(threads).max(1));
        let threads: Vec<_> = pieces.map(|piece| scope.spawn(|| work(piece))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    run.elapsed = begun.elapsed();
    let files = files_in(truncator.spill().path());
    for cut in &mut run.cuts {
        cut.files = (files, files);
    }
    Ok(run)
}
