//! `brute check`: whether the configuration can be used, phase by phase.

use brute_host::config::{Diagnostic, Room};
use brute_host::plugins::Plugins;
use brute_host::shown::shown;
use brute_host::truncation::Truncator;
use serde::Serialize;

use crate::args::{Check, Global};
use crate::exit::{Done, Exit};
use crate::style::{BAD, DIM, GOOD, WARN, bytes, number, styled};
use crate::{output, setup};

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Report {
    ok: bool,
    files: Vec<String>,
    diagnostics: Vec<Diagnostic>,
    phases: Vec<Phase>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Phase {
    name: &'static str,
    ok: bool,
    found: String,
}

pub(crate) fn run(global: &Global, args: &Check) -> Done {
    let global = &match &args.file {
        Some(file) => Global { config: Some(file.clone()), ..global.clone() },
        None => global.clone(),
    };
    let (sources, mut loaded) = setup::read(global)?;
    if let Some(config) = &loaded.config {
        loaded.diagnostics.extend(config.warnings(&loaded.layers));
        loaded.diagnostics.extend(config.out_of_reach());
    }
    let named = [&sources.user, &sources.project].into_iter().flatten();
    let files: Vec<String> = named.map(|source| source.name.clone()).collect();
    let failed = setup::has_errors(&loaded.diagnostics);
    let mut phases = vec![
        Phase {
            name: "files",
            ok: true,
            found: match files.is_empty() {
                true => "no brute.toml; the defaults hold".to_owned(),
                false => shown(files.join(", ")),
            },
        },
        Phase { name: "keys and values", ok: !failed, found: findings(&loaded.diagnostics) },
    ];
    phases.extend(plugins(&loaded.plugins));
    if let Some(config) = &loaded.config {
        let rungs: Vec<&str> = config.ladder.iter().map(|rung| rung.name.as_str()).collect();
        let found = if rungs.is_empty() { "no rung".to_owned() } else { shown(rungs.join(" > ")) };
        phases.push(Phase { name: "ladder", ok: true, found });
        let model = config.window.model.as_deref();
        phases.push(
            match (config.room(None), model.or(Some("")).filter(|_| config.window.size.is_none())) {
                (Ok(room), _) => Phase { name: "window", ok: true, found: window(&room) },
                (Err(_), Some("")) => Phase {
                    name: "window",
                    ok: true,
                    found: "by the model that a session names".to_owned(),
                },
                (Err(error), _) => Phase { name: "window", ok: false, found: shown(error) },
            },
        );
        phases.push(spill(config));
    }
    let strict = args.deny_warnings && !loaded.diagnostics.is_empty();
    let ok = phases.iter().all(|phase| phase.ok) && !strict;
    if args.json {
        output::json(&Report { ok, files, diagnostics: loaded.diagnostics, phases })?;
    } else {
        setup::show(&loaded.diagnostics);
        let lines = phases.iter().map(|phase| {
            let sign = if phase.ok { styled(GOOD, "ok") } else { styled(BAD, "no") };
            format!("{sign}  {:<16} {}\n", phase.name, phase.found)
        });
        let end = match (ok, strict) {
            (true, _) => styled(GOOD, "can be used"),
            (false, true) => styled(WARN, "there are warnings"),
            (false, false) => styled(BAD, "cannot be used"),
        };
        output::text(&format!("{}{end}\n", lines.collect::<String>()))?;
    }
    Ok(if ok { Exit::Fitted } else { Exit::Configuration })
}

/// How much room there is, in tokens and in bytes on the wire.
fn window(room: &Room) -> String {
    let budget = &room.budget;
    let mut found = format!(
        "{} tokens, compaction at {}, down to {}",
        number(room.size),
        number(budget.compact_at()),
        number(budget.target())
    );
    if let Some(wire) = budget.wire() {
        let [most, at, to] = [wire.most(), wire.compact_at(), wire.compact_to()].map(bytes);
        found.push_str(&format!("; {most} on the wire, compaction at {at}, down to {to}"));
    }
    found
}

fn findings(diagnostics: &[Diagnostic]) -> String {
    match diagnostics.len() {
        0 => "nothing to complain about".to_owned(),
        1 => "1 finding, see above".to_owned(),
        many => format!("{many} findings, see above"),
    }
}

/// How many of the libraries were loaded that `[plugins]` leads to. One that was not is no fault by itself.
fn plugins(plugins: &Plugins) -> Option<Phase> {
    let known = plugins.files.len();
    let loaded = plugins.files.iter().filter(|plugin| plugin.why_not().is_none()).count();
    (known > 0).then(|| {
        let not = match known - loaded {
            0 => String::new(),
            not => format!(", {not} not (`brute plugins list` says why)"),
        };
        Phase { name: "plugins", ok: true, found: format!("{loaded} loaded{not}") }
    })
}

/// Whether full texts can be saved, without leaving anything behind.
fn spill(config: &brute_host::config::Config) -> Phase {
    let name = "tool output";
    let truncator = match Truncator::new(config.truncate.clone()) {
        Ok(truncator) => truncator,
        Err(error) => return Phase { name, ok: false, found: shown(error) },
    };
    let found = match truncator.spill().path() {
        Some(path) if truncator.spill().is_readable() => {
            format!("full texts go to {}", shown(path.display()))
        }
        Some(path) => {
            format!("full texts go to {}, where the model cannot read them", shown(path.display()))
        }
        None => styled(DIM, "full texts are not saved"),
    };
    Phase { name, ok: true, found }
}
