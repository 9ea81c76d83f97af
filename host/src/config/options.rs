//! The options of a layer without a ladder around them.

use std::sync::Arc;

use serde_json::Value;

use super::check::Checker;
use super::diagnostic::{Diagnostic, Origin, Source};
use super::document::{fields, rung_fields};
use super::node::Node;
use crate::layers::{LayerKind, Layers};
use crate::plugins::Plugins;

/// The options of `kind` that a command line gives by `--option`, each a line as in a file, for
/// [`LayerKind::build`]. `layers` are those that an option may have been meant for.
///
/// # Errors
/// All that is wrong with them, as far as the schema tells, in the words of [`load`](super::load).
pub fn layer_options(
    kind: &LayerKind,
    layers: &Layers,
    lines: &[String],
) -> Result<Value, Vec<Diagnostic>> {
    let mut diagnostics = Vec::new();
    let mut options = Node::empty();
    for (index, text) in lines.iter().enumerate() {
        let (name, text) = ("--option".to_owned(), text.clone());
        let source = Source::new(name, text, Origin::Set(index));
        let before = diagnostics.len();
        let mut node = Node::parse(&Arc::new(source), &mut diagnostics);
        // What the parser made up to get past an error is not worth another one.
        if diagnostics.len() == before {
            let (plugins, fields, rung) = (&Plugins::default(), fields(), rung_fields());
            let (known_only, diagnostics) = (false, &mut diagnostics);
            Checker { layers, plugins, fields, rung, known_only, diagnostics }
                .options(&mut node, kind);
            options.merge(node);
        }
    }
    match diagnostics.is_empty() {
        true => Ok(options.to_json()),
        false => Err(diagnostics),
    }
}
