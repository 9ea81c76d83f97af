//! Rebuilding a list whose elements change, with the white space that was between them.

use std::borrow::Cow;
use std::ops::Range;

use super::View;

/// The elements of a list in a text, and the text around them: an array, or the lines of a file.
#[derive(Debug, Clone)]
pub(crate) struct List<'a> {
    text: &'a str,
    /// The list, brackets included if it has any.
    outer: Range<usize>,
    elements: Vec<Range<usize>>,
    /// What goes before an element that is new, if no pair of elements shows it.
    separator: String,
}

/// An element of a rebuilt list.
#[derive(Debug, Clone)]
pub(crate) struct Item<'a> {
    /// Its place in the list as it was; none if it is new.
    pub(crate) from: Option<usize>,
    /// Its JSON.
    pub(crate) json: Cow<'a, str>,
}

impl<'a> List<'a> {
    /// The elements of `array`; `separator` is what parts two of them if it has but one.
    pub(crate) fn of_array(array: View<'a>, separator: String) -> Self {
        let text = array.source().text();
        let elements: Vec<_> = array.items().map(View::span).collect();
        let outer = array.span();
        let separator = match elements.first() {
            // A lone element on a line of its own shows how a second one would stand.
            Some(first) if text[outer.start + 1..first.start].contains('\n') => {
                format!(",{}", &text[outer.start + 1..first.start])
            }
            _ => separator,
        };
        Self { text, outer, elements, separator }
    }

    /// The values of a whole text, one after the other.
    pub(crate) fn of_lines(text: &'a str, elements: Vec<Range<usize>>) -> Self {
        Self { text, outer: 0..text.len(), elements, separator: "\n".to_owned() }
    }

    /// Where the list stands in its text.
    pub(crate) fn outer(&self) -> Range<usize> {
        self.outer.clone()
    }

    /// The list with these elements instead.
    pub(crate) fn rebuild(&self, items: &[Item<'_>]) -> String {
        let size = items.iter().map(|item| item.json.len() + 8).sum::<usize>();
        let mut list = String::with_capacity(size + 64);
        let (Some(first), Some(last)) = (self.elements.first(), self.elements.last()) else {
            list.push_str(
                self.text.get(self.outer.start..self.outer.start + 1).unwrap_or_default(),
            );
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    list.push_str(&self.separator);
                }
                list.push_str(&item.json);
            }
            list.push_str(self.text.get(self.outer.start + 1..self.outer.end).unwrap_or_default());
            return list;
        };
        if items.is_empty() {
            let (open, close) = (self.outer.start + 1, self.outer.end - 1);
            let is_array = self.text[self.outer.clone()].starts_with('[');
            return if is_array {
                format!(
                    "{}{}",
                    &self.text[self.outer.start..open],
                    &self.text[close..self.outer.end]
                )
            } else {
                String::new()
            };
        }
        let default = match &self.elements[..] {
            [one, two, ..] => &self.text[one.end..two.start],
            _ => &self.separator,
        };
        list.push_str(&self.text[self.outer.start..first.start]);
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                list.push_str(match item.from {
                    Some(from) if from > 0 => {
                        &self.text[self.elements[from - 1].end..self.elements[from].start]
                    }
                    _ => default,
                });
            }
            list.push_str(&item.json);
        }
        list.push_str(&self.text[last.end..self.outer.end]);
        list
    }
}
