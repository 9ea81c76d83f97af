//! `brute layers`: all layers and their options.

use brute_host::layers::LayerKind;
use brute_host::shown::{shown, shown_lines};
use serde::Serialize;

use crate::args::{Global, Layers};
use crate::exit::{Done, Exit, Failure};
use crate::style::{DIM, HEAD, styled};
use crate::{output, setup};

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Layer<'a> {
    name: &'a str,
    version: &'a str,
    summary: &'a str,
    needs_summarizer: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<String>,
    options: &'a serde_json::Value,
}

pub(crate) fn run(global: &Global, args: &Layers) -> Done {
    let (registry, plugins) = setup::layers_and_plugins(global)?;
    let kinds: Vec<&LayerKind> = match &args.name {
        None => registry.iter().collect(),
        Some(name) => vec![registry.get(name).ok_or_else(|| {
            let (message, help) = plugins.no_layer(&registry, name);
            Failure::configuration(format!("{message}; {help}"))
        })?],
    };
    if args.json {
        let layers = kinds.iter().map(|kind| Layer {
            name: &kind.name,
            version: &kind.version,
            summary: &kind.summary,
            needs_summarizer: kind.needs_summarizer,
            plugin: kind.plugin.as_ref().map(|path| path.display().to_string()),
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
    let plugin = match &kind.plugin {
        Some(path) => styled(DIM, &format!("\n  from {}", shown(path.display()))),
        None => String::new(),
    };
    let needs = if kind.needs_summarizer { " (needs `[summarizer]`)" } else { "" };
    let mut text = format!(
        "{} {}\n  {}{needs}{plugin}\n",
        styled(HEAD, &shown(&kind.name)),
        styled(DIM, &shown(&kind.version)),
        shown(&kind.summary)
    );
    for field in kind.fields() {
        let default = field.default.as_ref().map_or_else(
            || ", not set by default".to_owned(),
            |default| format!(", default {default}"),
        );
        let kind = styled(DIM, &shown(format!("{}{default}", field.shape.words())));
        text.push_str(&format!("\n  {}: {kind}\n", styled(HEAD, &shown(&field.name))));
        for line in shown_lines(&field.doc).lines() {
            text.push_str(format!("      {line}").trim_end());
            text.push('\n');
        }
    }
    text
}
