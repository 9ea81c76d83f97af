//! Windows that a host lends, where no plugin is built or loaded: there are none.

use std::convert::Infallible;
use std::marker::PhantomData;

use crate::{Mark, Outline, PartView, Role, Sizes};

/// A window that is never lent.
pub(crate) struct Lent<'a>(Infallible, PhantomData<&'a ()>);

impl<'a> Lent<'a> {
    pub(crate) fn sizes(&self) -> Sizes {
        match self.0 {}
    }

    pub(crate) fn len(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn get(&self, _: usize) -> Option<LentMessage<'a>> {
        match self.0 {}
    }

    pub(crate) fn outline(&self) -> &Outline {
        match self.0 {}
    }
}

/// A message of it.
#[derive(Clone, Copy)]
pub(crate) struct LentMessage<'a>(Infallible, PhantomData<&'a ()>);

impl<'a> LentMessage<'a> {
    pub(crate) fn role(&self) -> Role {
        match self.0 {}
    }

    pub(crate) fn tokens(&self) -> u32 {
        match self.0 {}
    }

    pub(crate) fn mark(&self) -> Option<Mark> {
        match self.0 {}
    }

    pub(crate) fn is_protected(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn parts(&self) -> &'a [RawPart<'a>] {
        match self.0 {}
    }
}

/// A part of it.
pub(crate) struct RawPart<'a> {
    pub(crate) tokens: u32,
    never: Infallible,
    lent: PhantomData<&'a ()>,
}

impl<'a> RawPart<'a> {
    pub(crate) fn view(&self) -> PartView<'a> {
        match self.never {}
    }
}
