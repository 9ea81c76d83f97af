//! Changes to a stretch of text that leave every other byte of it alone.

use std::ops::Range;

use super::json::View;

/// Replacements, by where they stand in the whole text.
#[derive(Debug, Default)]
pub(super) struct Patches(Vec<(Range<usize>, String)>);

impl Patches {
    pub(super) fn replace(&mut self, span: Range<usize>, with: impl Into<String>) {
        self.0.push((span, with.into()));
    }

    /// Sets a member of `object` to `json`, behind the others if there is none of that name.
    pub(super) fn set(&mut self, object: View<'_>, key: &str, json: String) {
        if let Some(value) = object.get(key) {
            self.replace(value.span(), json);
        } else {
            let style = super::json::Style::of(object);
            let member = style.member(key, &json);
            match object.members().last() {
                Some((_, last)) => {
                    let at = last.span().end;
                    self.replace(at..at, format!("{}{member}", style.separator()));
                }
                None => self.replace(object.span(), format!("{{{member}}}")),
            }
        }
    }

    /// Takes the members of these names out of `object`.
    pub(super) fn remove(&mut self, object: View<'_>, keys: &[&str]) {
        let members: Vec<_> = object
            .members()
            .map(|(key, value)| {
                let goes = key.text().is_some_and(|key| keys.contains(&&*key));
                (key.span().start..value.span().end, goes)
            })
            .collect();
        let mut kept = false;
        for (place, (span, goes)) in members.iter().enumerate() {
            if !goes {
                kept = true;
                continue;
            }
            let next = members.get(place + 1).map_or(span.end, |(next, _)| next.start);
            let before = place.checked_sub(1).and_then(|before| members.get(before));
            match before {
                Some((before, _)) if kept => self.replace(before.end..span.end, ""),
                _ => self.replace(span.start..next, ""),
            }
        }
    }

    /// The text in `span` with the replacements made.
    pub(super) fn apply(mut self, text: &str, span: Range<usize>) -> String {
        self.0.sort_by_key(|(span, _)| (span.start, span.end));
        let added: usize = self.0.iter().map(|(_, with)| with.len()).sum();
        let mut patched = String::with_capacity(span.len() + added);
        let mut from = span.start;
        for (at, with) in self.0 {
            patched.push_str(text.get(from..at.start).unwrap_or_default());
            patched.push_str(&with);
            from = at.end.max(from);
        }
        patched.push_str(text.get(from..span.end).unwrap_or_default());
        patched
    }
}
