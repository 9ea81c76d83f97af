//! `brute layers`: all layers and their options.

use brute_host::layers::{LayerKind, Layers as Registry};
use serde::Serialize;

use crate::args::Layers;
use crate::exit::{Done, Exit, Failure};
use crate::output;
use crate::style::{DIM, HEAD, styled};

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Layer<'a> {
    name: &'a str,
    version: &'a str,
    summary: &'a str,
    needs_summarizer: bool,
    options: &'a serde_json::Value,
}

pub(crate) fn run(args: &Layers) -> Done {
    let registry = Registry::built_in();
    let kinds: Vec<&LayerKind> = match &args.name {
        None => registry.iter().collect(),
        Some(name) => vec![registry.get(name).ok_or_else(|| {
            Failure::configuration(format!(
                "there is no layer `{name}`; {}",
                registry.suggest(name)
            ))
        })?],
    };
    if args.json {
        let layers = kinds.iter().map(|kind| Layer {
            name: &kind.name,
            version: &kind.version,
            summary: &kind.summary,
            needs_summarizer: kind.needs_summarizer,
            options: &kind.schema,
        });
        output::json(&layers.collect::<Vec<_>>())?;
    } else {
        let texts: Vec<String> = kinds.iter().map(|kind| text(kind)).collect();
        output::text(&texts.join("\n"))?;
    }
    Ok(Exit::Fitted)
}

fn text(kind: &LayerKind) -> String {
    let needs = if kind.needs_summarizer { " (needs `[summarizer]`)" } else { "" };
    let mut text = format!(
        "{} {}\n  {}{needs}\n",
        styled(HEAD, &kind.name),
        styled(DIM, &kind.version),
        kind.summary
    );
    for field in kind.fields() {
        let default = field.default.as_ref().map_or_else(
            || ", not set by default".to_owned(),
            |default| format!(", default {default}"),
        );
        let kind = styled(DIM, &format!("{}{default}", field.shape.words()));
        text.push_str(&format!("\n  {}: {kind}\n", styled(HEAD, &field.name)));
        for line in field.doc.lines() {
            text.push_str(format!("      {line}").trim_end());
            text.push('\n');
        }
    }
    text
}
