//! JSON pointers to many values of one source.

use std::fmt::Write as _;

use super::{Kind, Source};

/// Where every value stands in what holds it, found in one walk over the source.
///
/// [`Source::pointer`] walks over all siblings before a value, which is right for one error. Where
/// thousands of values are at fault, each pointer from here costs no more than its own length.
#[derive(Debug)]
pub(crate) struct Pointers<'a> {
    source: &'a Source,
    steps: Vec<Step>,
}

/// The last step of the way to a value.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Nothing leads further: a root.
    Root,
    /// A key; it is pointed at like its object.
    Key { object: u32 },
    /// The value of a member.
    Member { object: u32, key: u32 },
    /// An element of an array.
    Element { array: u32, place: u32 },
}

impl<'a> Pointers<'a> {
    /// Walks over all of `source`.
    pub(crate) fn of(source: &'a Source) -> Self {
        let mut steps = vec![Step::Root; source.nodes.len()];
        // The casts lose nothing: nodes are numbered by `u32`.
        for holder in 0..source.nodes.len() as u32 {
            let view = source.at(holder);
            match view.kind() {
                Kind::Array => {
                    for (place, item) in view.items().enumerate() {
                        steps[item.index() as usize] =
                            Step::Element { array: holder, place: place as u32 };
                    }
                }
                Kind::Object => {
                    for (key, value) in view.members() {
                        let (object, key) = (holder, key.index());
                        steps[key as usize] = Step::Key { object };
                        steps[value.index() as usize] = Step::Member { object, key };
                    }
                }
                _ => {}
            }
        }
        Self { source, steps }
    }

    /// The JSON pointer to `node`, the same as [`Source::pointer`] finds.
    pub(crate) fn pointer(&self, node: u32) -> String {
        let (mut way, mut at) = (Vec::new(), node);
        while let Some(step) = self.steps.get(at as usize).copied() {
            at = match step {
                Step::Root => break,
                Step::Key { object } => object,
                Step::Member { object, .. } => {
                    way.push(step);
                    object
                }
                Step::Element { array, .. } => {
                    way.push(step);
                    array
                }
            };
        }
        let mut pointer = self.source.root_pointer(at);
        for step in way.into_iter().rev() {
            match step {
                Step::Member { key, .. } => self.source.at(key).point(&mut pointer),
                // Writing to a string cannot fail.
                Step::Element { place, .. } => drop(write!(pointer, "/{place}")),
                Step::Root | Step::Key { .. } => {}
            }
        }
        pointer
    }
}
