//! Where the parts of a message stand on the wire.

use std::ops::Deref;

/// Where a part stands, as a node of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// The content of the message is this part and no list.
    Content,
    /// An element of the content, or, where a message of the model is several on the wire, one of those.
    Element(u32),
    /// A call in a list of its own beside the content.
    Call(u32),
    /// Fields of the message itself, beside the content.
    Fields,
    /// Counts for an element that another part stands for, and goes with it.
    Beside,
}

impl Slot {
    /// The node that a part stands at, if it has one of its own.
    pub(super) fn node(&self) -> Option<u32> {
        match self {
            Self::Element(node) | Self::Call(node) => Some(*node),
            Self::Content | Self::Fields | Self::Beside => None,
        }
    }
}

/// The slots of all parts of a message. Most messages have one part, and their slot no place of its own in memory.
#[derive(Debug)]
pub(super) enum Slots {
    One(Slot),
    Any(Box<[Slot]>),
}

impl Deref for Slots {
    type Target = [Slot];

    fn deref(&self) -> &[Slot] {
        match self {
            Self::One(slot) => std::slice::from_ref(slot),
            Self::Any(slots) => slots,
        }
    }
}

impl FromIterator<Slot> for Slots {
    fn from_iter<T: IntoIterator<Item = Slot>>(slots: T) -> Self {
        let mut slots = slots.into_iter();
        match (slots.next(), slots.next()) {
            (Some(only), None) => Self::One(only),
            (first, second) => Self::Any(first.into_iter().chain(second).chain(slots).collect()),
        }
    }
}

impl<'a> IntoIterator for &'a Slots {
    type Item = &'a Slot;
    type IntoIter = std::slice::Iter<'a, Slot>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
