//! `[summarizer]` and `[[fallback]]`: whether they can be used, and whether whoever wrote them may say so.

use std::sync::Arc;

use brute_core::Approximate;

use super::diagnostic::{Diagnostic, Origin};
use super::node::{Kind, Node};
use super::resolve::{Loader, said_of};
use crate::models::ModelTable;
use crate::summarizers::{BudgetOptions, SummarizerOptions};

/// The keys by which a summarizer runs something, or lets somebody read the conversation, and what no file may say
/// by them that was only found. In the order in which they are reported, one of them for each summarizer.
const USERS_OWN: [(&str, &str); 4] = [
    ("command", "cannot name a program to run"),
    ("base-url", "cannot say who reads the conversation"),
    ("api-key-env", "cannot say which key is sent"),
    ("model", "cannot choose a model, which costs money"),
];

impl Loader {
    /// Reports what is wrong with the summarizers.
    pub(super) fn summarizers(
        &mut self,
        tree: &Node,
        first: Option<&SummarizerOptions>,
        fallback: &[SummarizerOptions],
        models: &ModelTable,
    ) {
        let section = tree.get(&["summarizer"]).zip(first).map(|both| ("summarizer".into(), both));
        let list = match tree.get(&["fallback"]).map(|node| &node.kind) {
            Some(Kind::List(items)) => items.as_slice(),
            _ => &[],
        };
        let list = list.iter().zip(fallback).enumerate();
        let list = list.map(|(index, both)| (format!("fallback[{index}]"), both));
        for (path, (node, options)) in section.into_iter().chain(list) {
            self.of_a_stranger(node, &path);
            self.key_for_another(node, &path);
            if let Err(error) = options.build(Arc::new(Approximate), models) {
                let key = format!("{path}.{}", error.option);
                let message = said_of(error.option, error.message);
                let place: Vec<&str> = error.option.split('.').collect();
                self.report(node, &place, Diagnostic::error(message, key));
            }
            if path != "summarizer" && !options.budget().is_empty() {
                let message = "a fallback has no budget of its own";
                let help = "put it into `[summarizer.budget]`, which is for all of them together";
                let diagnostic = Diagnostic::error(message, format!("{path}.budget")).help(help);
                self.report(node, &["budget"], diagnostic);
            }
        }
        if first.is_none() && !fallback.is_empty() && tree.get(&["summarizer"]).is_none() {
            let message = "`[[fallback]]` stands in for `[summarizer]`, and there is none";
            let help = "make the first of them the `[summarizer]`";
            let diagnostic = Diagnostic::error(message, "fallback").help(help);
            self.report(tree, &["fallback"], diagnostic);
        }
    }

    /// Whoever works in a stranger's repository must not run a stranger's program by it, nor send the conversation,
    /// a key or money anywhere that the stranger says.
    fn of_a_stranger(&mut self, node: &Node, path: &str) {
        let found = |key: &str| node.get(&[key]).is_some_and(|node| node.origin() == Origin::Found);
        let backend = node.get(&["backend"]).and_then(Node::text);
        let asks_a_server = matches!(backend, Some("openai" | "anthropic"));
        let own = USERS_OWN.iter().find(|(key, _)| found(key)).copied();
        let spends = BudgetOptions::KEYS.iter().any(|key| {
            node.get(&["budget", key]).is_some_and(|node| node.origin() == Origin::Found)
        });
        let own = own.or(spends.then_some(("budget", "cannot say how much summaries may take")));
        let own = own.or((asks_a_server && found("backend"))
            .then_some(("backend", "cannot send the conversation to a server")));
        if let Some((key, what)) = own {
            let message = format!("a file that was only found here {what}");
            let help = "put `[summarizer]` into your own file, or name this one by `--config`";
            let diagnostic = Diagnostic::error(message, format!("{path}.{key}")).help(help);
            self.report(node, &[key], diagnostic);
        }
    }

    /// A key goes to the server that it was written for: who names another one says which key is that one's.
    fn key_for_another(&mut self, node: &Node, path: &str) {
        let both = node.get(&["base-url"]).zip(node.get(&["api-key-env"]));
        let Some((url, key)) = both.filter(|(_, key)| key.text() != Some("")) else { return };
        // All that stands on one command line is said at once.
        let place = |node: &Node| match node.origin() {
            Origin::Set(_) => Origin::Set(0),
            origin => origin,
        };
        if place(url) > place(key) {
            let said = key.source.cite(key.span.start);
            let message =
                format!("`base-url` names another server than `api-key-env` ({said}) is for");
            let help = "say `api-key-env` beside it; `\"\"` sends no key";
            let diagnostic = Diagnostic::error(message, format!("{path}.base-url")).help(help);
            self.report(node, &["base-url"], diagnostic);
        }
    }
}
