//! Truncated texts, notices, and the files behind them.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, SystemTime};

use brute_core::truncation::Notice;
use brute_host::quantity::ByteSize;
use brute_host::truncation::Truncator;
use serde_json::json;

use super::Table;
use crate::support::expand::expand;
use crate::support::run::{Cut, Run, Verdict};
use crate::support::runner::Lab;
use crate::support::session::Session;
use crate::support::settings::warnings;
use crate::support::truncator::{cut, options, truncator};
use crate::support::wire::items;

pub(crate) const TABLE: Table = &[
    // A truncator sees the text alone, success or failure alike: the flag stays with its owner.
    ("100", "The error flag", |run, _| {
        each(run, |cut| cut.text.starts_with("ERROR 409"), "the text does not begin as it did")
    }),
    ("105", "2000 lines with a final newline", exact_at_the_limit),
    ("107", "The cut line carries a mark", |run, _| {
        each(run, |cut| cut.body().contains("[...1000 characters cut...]"), "there is no such mark")
    }),
    ("107", "The whole line can be had", |run, _| {
        each(run, |cut| cut.saved().as_ref() == Some(&cut.input), "the file is not the input")
    }),
    ("108", "The body is not empty", |run, _| {
        let shown = |cut: &Cut| cut.body().matches('j').count();
        let holds = |cut: &Cut| (1..=2000).contains(&shown(cut)) && has_mark(cut);
        each(run, holds, "too much, nothing, or no mark")
    }),
    ("108", "tail mode keeps the end", |run, _| {
        let ends = |cut: &Cut| cut.body().contains("cut...]j") || cut.mode != "tail";
        each(run, ends, "the mark does not stand before the end of the line")
    }),
    ("110", "Passes 2 and 3", |run, _| {
        let same = |cut: &Cut| {
            cut.passes.len() == 2
                && cut.passes.iter().all(|text| *text == cut.text)
                && cut.files.0 == cut.files.1
        };
        each(run, same, "the text or the number of files changed")
    }),
    ("110", "The same holds when the result", compaction_keeps_the_notice),
    ("111", "If carriage returns are collapsed", progress_is_one_line),
    ("111", "2000 lines ending in CRLF", crlf_lines_count),
    ("111", "A CRLF pair is never split", |run, _| {
        let crlf = |cut: &Cut| {
            let body = cut.body();
            !cut.input.starts_with(b"win")
                || body.matches('\r').count() == body.matches("\r\n").count()
        };
        each(run, crlf, "a carriage return stands alone")
    }),
    ("113", "With stripping", sequences_go),
    ("113", "Without stripping", sequences_stay),
    ("115", "The body holds no U+0000", |run, _| {
        each(run, |cut| !cut.text.contains('\0'), "it does")
    }),
    ("115", "When anything was replaced", |run, _| {
        let named = |cut: &Cut| cut.saved().as_ref() == Some(&cut.input) && names_its_file(cut);
        each(run, named, "there is no file with the original, or the notice does not name it")
    }),
    ("117", "The third text", |run, _| {
        let plain = |cut: &Cut| cut.input.len() > 6 || cut.text.as_bytes() == cut.input;
        each(run, plain, "it was changed")
    }),
    ("117", "The body of the first text", |run, _| {
        each(run, |cut| cut.text.len() <= 51200, "it is longer")
    }),
    ("118", "With an overflow_dir outside", out_of_reach_is_told),
    ("118", "The path in the hint is absolute", |run, _| {
        let absolute = |cut: &Cut| cut.file.as_ref().is_some_and(|path| path.is_absolute());
        each(run, absolute, "it is not")
    }),
    ("120", "After each further limit", |run, _| {
        let whole = |cut: &Cut| {
            cut.passes.iter().all(|text| {
                let notice = Notice::verify(text);
                notice.is_some()
                    && text.matches("[brute:truncated:").count() == 1
                    && cut.file.as_ref().is_some_and(|path| text.contains(&*path.to_string_lossy()))
            })
        };
        each(run, whole, "the notice is not whole, is there twice, or lost its path")
    }),
    ("121", "The truncated body is returned", unsaved_is_told),
    ("121", "A missing folder", |run, _| {
        let deep = run.settings["overflow_dir"].as_str().is_some_and(|dir| dir.contains("missing"));
        let saved = |cut: &Cut| !deep || cut.saved().as_ref() == Some(&cut.input);
        each(run, saved, "there is no file")
    }),
    ("121", "The error is also in the report", |run, _| {
        let told = |cut: &Cut| {
            cut.file.is_some() || cut.report.as_ref().is_some_and(|cut| cut.not_saved.is_some())
        };
        each(run, told, "it is not")
    }),
    ("123", "Each file has mode 0600", files_are_private),
    ("123", "An existing symlink", links_are_not_followed),
    ("123", "There is a documented limit", old_files_go),
    ("127", "100 hints name", |run, _| {
        let files: HashSet<_> = run.cuts.iter().filter_map(|cut| cut.file.clone()).collect();
        Verdict::all([
            Verdict::of(files.len() == 100, || format!("{} files", files.len())),
            each(run, |cut| cut.saved().as_ref() == Some(&cut.input), "a file is another's"),
        ])
    }),
    ("127", "Holds for 16 threads", names_come_from_the_text),
    ("148", "A redaction hook", |run, _| {
        let clean = |cut: &Cut| {
            let saved = cut.redacted.clone().unwrap_or_default();
            saved.contains("[redacted]") && !saved.contains("sk-test-AAAA")
        };
        each(run, clean, "what is saved is not what the hook made of it")
    }),
];

fn each(run: &Run, holds: impl Fn(&Cut) -> bool, otherwise: &str) -> Verdict {
    Verdict::all(run.cuts.iter().map(|cut| {
        Verdict::of(holds(cut), || {
            let start: String = cut.text.chars().take(60).collect();
            format!("{otherwise} ({}, `{start}`…)", cut.mode)
        })
    }))
}

/// The one-byte forms stay, as documented.
fn sequences_go(run: &Run, _: &Lab<'_>) -> Verdict {
    let texts: Vec<&str> = run.cuts.iter().map(|cut| cut.text.as_str()).collect();
    let wanted = ["red kept x", "text", "link", "plain", "\u{9b}31mc1"];
    Verdict::of(texts == wanted, || format!("{texts:?}"))
}

fn sequences_stay(_: &Run, lab: &Lab<'_>) -> Verdict {
    let mut input = lab.variant.input.clone();
    input["strip_ansi"] = false.into();
    match lab.rerun(&input, &lab.variant.settings) {
        Ok(run) => each(&run, |cut| cut.text.as_bytes() == cut.input, "the text changed"),
        Err(why) => Verdict::Fail(why),
    }
}

/// Both: a warning at load, with its place, and a notice without the path.
fn out_of_reach_is_told(_: &Run, lab: &Lab<'_>) -> Verdict {
    let outside = lab.folders.fill("$TMP/elsewhere");
    let run = match lab.with_settings(|settings| settings["overflow_dir"] = json!(outside)) {
        Ok(run) => run,
        Err(why) => return Verdict::Fail(why),
    };
    let unnamed = |cut: &Cut| {
        cut.saved().as_ref() == Some(&cut.input)
            && !cut.text.contains(&outside)
            && cut.notice().contains("kept for the operator, where you cannot read it")
    };
    let warned = |folder: &str| {
        let readable = items(&lab.variant.settings["readable_dirs"]).iter();
        let readable: Vec<_> =
            readable.filter_map(|dir| dir.as_str()).map(|dir| lab.folders.fill(dir)).collect();
        warnings(&format!("[truncate]\nspill = {folder:?}\nreadable = {readable:?}\n"))
    };
    let (inside, outside_said) = (warned(&lab.folders.fill("$WORKSPACE/out")), warned(&outside));
    Verdict::all([
        each(&run, unnamed, "the notice names the path, or there is no file"),
        Verdict::of(inside.is_empty(), || format!("a good folder is warned of: {inside:?}")),
        Verdict::of(
            matches!(outside_said.as_slice(), [said] if said.starts_with("brute.toml:2:9: warning: ")),
            || format!("the warnings are {outside_said:?}"),
        ),
    ])
}

fn has_mark(cut: &Cut) -> bool {
    cut.body().contains(" characters cut...]")
}

fn names_its_file(cut: &Cut) -> bool {
    cut.file.as_ref().is_some_and(|path| cut.notice().contains(&*path.to_string_lossy()))
}

fn ours(lab: &Lab<'_>) -> Result<Truncator, Verdict> {
    let mode = lab.variant.input["mode"].as_str().unwrap_or("head");
    truncator(&lab.variant.settings, &lab.folders, mode).map_err(Verdict::Fail)
}

fn exact_at_the_limit(_: &Run, lab: &Lab<'_>) -> Verdict {
    let ours = match ours(lab) {
        Ok(ours) => ours,
        Err(verdict) => return verdict,
    };
    let variants = lab.variant.input["variants"].as_array().cloned().unwrap_or_default();
    Verdict::all(variants.iter().map(|variant| {
        let mut node = variant.clone();
        node["$lines"] = json!("row-{i:04}");
        let text = expand(&node, &Default::default());
        let cut = cut(&ours, "tail", text.as_str().unwrap_or_default().as_bytes());
        let wanted = variant["expect_truncated"].as_bool();
        Verdict::of(Some(cut.report.is_some()) == wanted, || {
            format!("{variant} is not as expected")
        })
    }))
}

/// A tool message with a notice of ours goes through the ladder: what it says of the whole text, and
/// where that is, must not get lost.
fn compaction_keeps_the_notice(run: &Run, lab: &Lab<'_>) -> Verdict {
    let Some(first) = run.cuts.first() else { return Verdict::Pass };
    let call = |id: &str| {
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "sh", "arguments": "{}"}}]})
    };
    let result =
        |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let input = json!({"op": "compact", "format": "openai_chat", "messages": [
        {"role": "user", "content": "go"}, call("a"), result("a", &first.text),
        call("b"), result("b", "ok"), {"role": "user", "content": "next"}]});
    let settings =
        json!({"window": 40_000, "target": 500, "keep_steps": 1, "ladder": ["tool_results"]});
    let session = Session::new(&input, &settings, lab.kind, false);
    let Some(Ok(after)) = session.map(|session| session.take(&input)) else {
        return Verdict::Fail("the list could not be compacted".into());
    };
    let words = super::result_words(&after, "a");
    let path =
        first.file.as_ref().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    let again = after.again.as_ref().is_none_or(|again| again.text == after.last().text);
    Verdict::all([
        Verdict::of(words == first.text || words.contains(&path), || {
            let start: String = words.chars().take(200).collect();
            format!("the notice named {path}; now the result says `{start}`")
        }),
        Verdict::of(again, || "a second run replaced the placeholder".into()),
    ])
}

fn progress_is_one_line(run: &Run, _: &Lab<'_>) -> Verdict {
    let marked =
        |cut: &Cut| !cut.input.starts_with(b"\rDown") || (cut.report.is_some() && has_mark(cut));
    each(run, marked, "the long line is not marked")
}

fn crlf_lines_count(run: &Run, _: &Lab<'_>) -> Verdict {
    let right = |cut: &Cut| {
        let lines = cut.input.iter().filter(|byte| **byte == b'\n').count();
        match (cut.input.starts_with(b"win"), lines) {
            (true, 2000) => cut.report.is_none() && cut.text.as_bytes() == cut.input,
            (true, _) => cut.report.is_some() && cut.body().contains("\r\n"),
            _ => true,
        }
    };
    each(run, right, "it is not")
}

fn unsaved_is_told(run: &Run, lab: &Lab<'_>) -> Verdict {
    let told = |cut: &Cut| match cut.report.as_ref().and_then(|cut| cut.not_saved.as_ref()) {
        Some(reason) => {
            let folder =
                lab.folders.fill(run.settings["overflow_dir"].as_str().unwrap_or_default());
            let names_none = folder.is_empty() || !cut.text.contains(&folder);
            !cut.body().is_empty() && cut.notice().contains(reason.as_str()) && names_none
        }
        None => cut.saved().as_ref() == Some(&cut.input),
    };
    each(run, told, "the notice does not say that and why the text was not saved")
}

#[cfg(unix)]
fn files_are_private(run: &Run, _: &Lab<'_>) -> Verdict {
    use std::os::unix::fs::PermissionsExt;
    let mode =
        |path: &std::path::Path| fs::metadata(path).map(|file| file.permissions().mode() & 0o777);
    let private = |cut: &Cut| {
        let Some(path) = &cut.file else { return false };
        let folder = path.parent().and_then(|folder| mode(folder).ok());
        mode(path).ok() == Some(0o600) && folder == Some(0o700)
    };
    each(run, private, "others can read it")
}

#[cfg(not(unix))]
fn files_are_private(_: &Run, _: &Lab<'_>) -> Verdict {
    Verdict::Skip("this system has no file modes".into())
}

#[cfg(unix)]
fn links_are_not_followed(run: &Run, lab: &Lab<'_>) -> Verdict {
    let Some(path) = run.cuts.first().and_then(|cut| cut.file.clone()) else {
        return Verdict::Fail("there is no file".into());
    };
    let victim = path.with_file_name("victim");
    let prepared = fs::remove_file(&path)
        .and_then(|()| fs::write(&victim, "mine"))
        .and_then(|()| std::os::unix::fs::symlink(&victim, &path));
    if let Err(error) = prepared {
        return Verdict::Fail(error.to_string());
    }
    let ours = match ours(lab) {
        Ok(ours) => ours,
        Err(verdict) => return verdict,
    };
    let again = cut(&ours, "head", &run.cuts[0].input);
    let untouched = fs::read(&victim).is_ok_and(|text| text == b"mine");
    let own = fs::symlink_metadata(&path).is_ok_and(|file| file.is_file());
    Verdict::of(untouched && own && again.saved().as_ref() == Some(&again.input), || {
        "the link was followed, or stands where the text should be".into()
    })
}

#[cfg(not(unix))]
fn links_are_not_followed(_: &Run, _: &Lab<'_>) -> Verdict {
    Verdict::Skip("this system has no links".into())
}

/// The limits are age and size; a size of fifty texts leaves the newest fifty.
fn old_files_go(_: &Run, lab: &Lab<'_>) -> Verdict {
    let mut wanted = options(&lab.variant.settings, &lab.folders, "head");
    wanted.spill = Some(lab.folders.fill("$TMP/limited"));
    let text = |number: usize| format!("{number:08}\n").repeat(3000);
    wanted.max_total = ByteSize(50 * text(0).len() as u64);
    let Ok(ours) = Truncator::new(wanted) else { return Verdict::Fail("no truncator".into()) };
    let now = SystemTime::now();
    let mut files = Vec::new();
    for number in 0..300_usize {
        let Some(path) = cut(&ours, "head", text(number).as_bytes()).file else {
            return Verdict::Fail("a text was not saved".into());
        };
        let time = now - Duration::from_secs(3600 - number as u64);
        if let Ok(file) = fs::File::options().write(true).open(&path) {
            // The order is what matters; clocks are too coarse for it.
            let _ = file.set_modified(time);
        }
        files.push(path);
    }
    ours.sweep(now, &HashSet::new());
    let there: Vec<usize> = (0..300).filter(|number| files[*number].exists()).collect();
    Verdict::of(there == (250..300).collect::<Vec<_>>(), || format!("{there:?} are there"))
}

/// A name that depends on the text alone depends on no clock, thread or process.
fn names_come_from_the_text(run: &Run, lab: &Lab<'_>) -> Verdict {
    let ours = match ours(lab) {
        Ok(ours) => ours,
        Err(verdict) => return verdict,
    };
    let same = |first: &Cut| cut(&ours, "head", &first.input).file == first.file;
    each(run, same, "the same text got another name")
}
