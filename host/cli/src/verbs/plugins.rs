//! `brute plugins`: layers in dynamic libraries.

mod test;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use brute_core::abi::Manifest;
use brute_host::config::{Diagnostic, Severity};
use brute_host::plugins::{Plugin, PluginFile, Status, Trust, Verdict};
use brute_host::shown::shown;
use clap::Subcommand;
use serde::Serialize;

use self::test::PluginTest;
use crate::args::Global;
use crate::exit::{Done, Exit, Failure};
use crate::style::{BAD, DIM, GOOD, HEAD, WARN, styled};
use crate::{output, setup, warnings};

#[derive(Debug, Subcommand)]
pub(crate) enum Plugins {
    /// List the plugins that `[plugins] path` leads to, and why some are not loaded
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a library says of itself; none of its code runs
    Inspect {
        /// The library
        file: PathBuf,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Let a library run with your rights, as long as its bytes stay what they are
    Trust {
        /// The libraries
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Take that back
    Untrust {
        /// The libraries
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Try the layers of a library on made-up conversations; this runs its code
    Test(PluginTest),
}

pub(crate) fn run(global: &Global, args: &Plugins) -> Done {
    match args {
        Plugins::List { json } => list(global, *json),
        Plugins::Inspect { file, json } => inspect(global, file, *json),
        Plugins::Trust { files } => trust(global, files),
        Plugins::Untrust { files } => untrust(global, files),
        Plugins::Test(args) => test::run(args),
    }
}

/// A library, for a program to read.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Listed {
    path: String,
    loaded: bool,
    trusted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
    #[serde(flatten)]
    file: Option<Described>,
}

/// What a library says of itself, and what it is.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Described {
    blake3: String,
    abi: u32,
    core: String,
    rustc: String,
    layers: Vec<Layer>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Layer {
    name: String,
    version: String,
    summary: String,
    needs_summarizer: bool,
}

impl Described {
    fn of(file: &PluginFile) -> Self {
        let Manifest { abi, core, rustc, strategies } = file.manifest.clone();
        let layers = strategies.into_iter().map(|strategy| Layer {
            name: strategy.name,
            version: strategy.version,
            summary: strategy.summary,
            needs_summarizer: strategy.needs_summarizer,
        });
        Self { blake3: file.digest.to_string(), abi, core, rustc, layers: layers.collect() }
    }
}

fn list(global: &Global, json: bool) -> Done {
    let (sources, loaded) = setup::read(global)?;
    let found = &loaded.plugins;
    // What is amiss with the list itself, and with the user's word on those that are in it.
    let is_of_list = |one: &&Diagnostic| {
        one.key.is_empty() || one.severity == Severity::Error && one.key.starts_with("plugins")
    };
    setup::show(&loaded.diagnostics.iter().filter(is_of_list).cloned().collect::<Vec<_>>());
    if let Some(error) = &sources.trust_error {
        warnings::warn(&error.to_string());
    }
    if json {
        let listed = found.files.iter().map(|plugin| Listed {
            path: plugin.path.display().to_string(),
            loaded: matches!(plugin.status, Status::Loaded(_)),
            trusted: is_trusted(&sources.trust, plugin.file.as_ref()),
            why_not: plugin.why_not(),
            file: plugin.file.as_ref().map(Described::of),
        });
        output::json(&listed.collect::<Vec<_>>())?;
        return Ok(Exit::Fitted);
    }
    for (_, why) in &found.missing {
        output::say(&format!("{}: {why}", styled(WARN, "no plugins here")));
    }
    if found.files.is_empty() {
        output::say("no plugins; `[plugins] path` in brute.toml says where to look for them");
    }
    let texts = found.files.iter().map(|plugin| listed_text(plugin, &sources.trust));
    output::text(&texts.collect::<Vec<_>>().join("\n"))?;
    Ok(Exit::Fitted)
}

fn is_trusted(trust: &Trust, file: Option<&PluginFile>) -> bool {
    file.is_some_and(|file| trust.of(file) == Verdict::Trusted)
}

fn listed_text(plugin: &Plugin, trust: &Trust) -> String {
    let mut text = styled(HEAD, &shown(plugin.path.display()));
    let state = match plugin.why_not() {
        None => styled(GOOD, "loaded"),
        Some(why) => format!("{}: {why}", styled(BAD, "not loaded")),
    };
    let _ = writeln!(text, "\n  {state}");
    if let Some(help) = plugin.help() {
        let _ = writeln!(text, "  {help}");
    }
    if let Some(file) = &plugin.file {
        text.push_str(&described(file, trust));
    }
    text
}

/// What a library says of itself, one line a layer.
fn described(file: &PluginFile, trust: &Trust) -> String {
    let mut text = String::new();
    for layer in &file.manifest.strategies {
        let needs = if layer.needs_summarizer { " (needs `[summarizer]`)" } else { "" };
        let version = styled(DIM, &shown(&layer.version));
        let name = styled(HEAD, &shown(&layer.name));
        let _ = writeln!(text, "  {name} {version}  {}{needs}", shown(&layer.summary));
    }
    let verdict = match trust.of(file) {
        Verdict::Trusted => "trusted",
        Verdict::Unknown => "not trusted",
        Verdict::Changed => "changed since it was trusted",
    };
    let _ = writeln!(text, "  built against {}", shown(&file.manifest));
    let _ = writeln!(text, "  {verdict}, blake3 {}", file.digest);
    text
}

fn inspect(global: &Global, path: &Path, json: bool) -> Done {
    let file = read(path)?;
    let trust = Trust::read(&store(global)?).unwrap_or_else(|error| {
        warnings::warn(&error.to_string());
        Trust::default()
    });
    if json {
        output::json(&Listed {
            path: file.path.display().to_string(),
            loaded: false,
            trusted: is_trusted(&trust, Some(&file)),
            why_not: None,
            file: Some(Described::of(&file)),
        })?;
        return Ok(Exit::Fitted);
    }
    let path = styled(HEAD, &shown(file.path.display()));
    let fits = match file.fits() {
        true => String::new(),
        false => {
            let own = Manifest::of_this_crate();
            format!("  {}: this program has {own}\n", styled(BAD, "cannot be loaded here"))
        }
    };
    output::text(&format!("{path}\n{}{fits}", described(&file, &trust)))?;
    Ok(Exit::Fitted)
}

fn trust(global: &Global, paths: &[PathBuf]) -> Done {
    let files = paths.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let before = Trust::update(&store(global)?, |trust| {
        files.iter().map(|file| trust.add(file)).collect::<Vec<_>>()
    });
    for (file, before) in files.iter().zip(before.map_err(Failure::configuration)?) {
        let did = match before {
            Verdict::Unknown => "trusted",
            Verdict::Changed => "trusted as it is now",
            Verdict::Trusted => "trusted already",
        };
        let path = shown(file.path.display());
        output::say(&format!("{} {path} (blake3 {})", styled(GOOD, did), file.digest));
    }
    Ok(Exit::Fitted)
}

fn untrust(global: &Global, paths: &[PathBuf]) -> Done {
    let removed = Trust::update(&store(global)?, |trust| {
        paths.iter().map(|path| trust.remove(path)).collect::<Vec<_>>()
    });
    let mut unknown = Vec::new();
    for (path, removed) in paths.iter().zip(removed.map_err(Failure::configuration)?) {
        match removed {
            Some(was) => {
                let was = shown(was.display());
                output::say(&format!("{} {was}", styled(GOOD, "trusted no longer")));
            }
            None => unknown.push(format!("`{}`", shown(path.display()))),
        }
    }
    match unknown.is_empty() {
        true => Ok(Exit::Fitted),
        false => Err(Failure::input(format!("{} was not trusted", unknown.join(", ")))),
    }
}

/// The file that the user's word on plugins stands in.
fn store(global: &Global) -> Result<PathBuf, Failure> {
    let cwd = std::env::current_dir().map_err(setup::no_current_folder)?;
    setup::places(global, &cwd).trust.ok_or_else(|| {
        let message = "there is no folder for your own configuration to keep it in";
        Failure::configuration(message.to_owned())
    })
}

fn read(path: &Path) -> Result<PluginFile, Failure> {
    PluginFile::read(path)
        .map_err(|error| Failure::input(format!("`{}`: {error}", shown(path.display()))))
}
