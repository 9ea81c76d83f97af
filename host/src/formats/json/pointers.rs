//! The way to a value from the root, as a JSON pointer.

use std::cell::OnceCell;
use std::fmt::Write as _;

use super::{Source, Token, View};

/// Pointers lead no deeper: to what holds the value, if that stands deeper. Nobody would follow.
pub(super) const DEEPEST: usize = 128;

/// The way to the newest value of `tokens`, or to the one that begins at `node`: the number of its root, and the JSON
/// pointer from there. A key is pointed at like its object.
pub(super) fn way<'a>(
    tokens: impl Iterator<Item = Token<'a>>,
    node: Option<u32>,
) -> (usize, String) {
    /// An array or object that the value is in.
    struct Holder<'a> {
        key: Option<View<'a>>,
        count: usize,
    }
    let (mut holders, mut roots): (Vec<Holder<'_>>, usize) = (Vec::new(), 0);
    // How many levels below the deepest holder.
    let mut below = 0_usize;
    for token in tokens {
        match token {
            Token::Open(view) | Token::Scalar(view) => {
                match holders.last_mut() {
                    Some(holder) if below == 0 => holder.count += 1,
                    Some(_) => {}
                    None => roots += 1,
                }
                if Some(view.index()) == node {
                    break;
                }
                match token {
                    Token::Open(_) if holders.len() == DEEPEST => below += 1,
                    Token::Open(_) => holders.push(Holder { key: None, count: 0 }),
                    _ => {}
                }
            }
            Token::Key(key) if below > 0 => {
                if Some(key.index()) == node {
                    break;
                }
            }
            Token::Close if below > 0 => below -= 1,
            Token::Key(key) => {
                let is_there = Some(key.index()) == node;
                if let Some(holder) = holders.last_mut() {
                    holder.key = Some(key).filter(|_| !is_there);
                    holder.count = 0;
                }
                if is_there {
                    break;
                }
            }
            Token::Close => drop(holders.pop()),
        }
    }
    let mut pointer = String::new();
    for Holder { key, count } in holders {
        match key {
            Some(key) => key.point(&mut pointer),
            // Writing to a string cannot fail.
            None if count > 0 => drop(write!(pointer, "/{}", count - 1)),
            None => {}
        }
    }
    (roots.saturating_sub(1), pointer)
}

/// The pointer to a root: nothing, unless there are several.
pub(super) fn root_pointer(root: usize, roots: usize) -> String {
    if roots > 1 { format!("/{root}") } else { String::new() }
}

/// The JSON pointers of many values of a source.
///
/// [`Source::pointer`] walks over all that stands before a value, which is right for one. A broken file has thousands
/// of values to point at: here, one walk over all of it serves for all of them.
#[derive(Debug)]
pub(crate) struct Pointers<'a> {
    source: &'a Source,
    /// In the order of the text; not there before it is asked for.
    steps: OnceCell<Vec<Step>>,
}

/// A value, and the last step of the way to it.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Where it begins.
    start: u32,
    /// The step of what it is in; its own, if it is a root.
    holder: u32,
    place: Place,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// The root of this number.
    Root(u32),
    /// It is a key, and pointed at like its object.
    Key,
    /// The value of the member whose key begins there.
    Member(u32),
    /// The element of this number.
    Element(u32),
}

impl<'a> Pointers<'a> {
    /// Those of `source`.
    pub(crate) fn of(source: &'a Source) -> Self {
        Self { source, steps: OnceCell::new() }
    }

    /// The JSON pointer to the value that begins at `node`, or that the byte there is of.
    pub(crate) fn pointer(&self, node: u32) -> String {
        let steps = self.steps.get_or_init(|| steps(self.source));
        let mut at = steps.partition_point(|step| step.start <= node).saturating_sub(1);
        let (mut way, mut root) = (Vec::new(), 0);
        while let Some(step) = steps.get(at) {
            match step.place {
                Place::Root(number) => {
                    root = number as usize;
                    break;
                }
                Place::Key => {}
                place => way.push(place),
            }
            at = step.holder as usize;
        }
        let mut pointer = root_pointer(root, self.source.roots().len());
        for place in way.into_iter().rev().take(DEEPEST) {
            match place {
                Place::Member(key) => self.source.at(key).point(&mut pointer),
                // Writing to a string cannot fail.
                Place::Element(number) => drop(write!(pointer, "/{number}")),
                Place::Root(_) | Place::Key => {}
            }
        }
        pointer
    }
}

/// Walks over all of `source`. The casts lose nothing: no text has more bytes than 32 bits can count.
fn steps(source: &Source) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    // The steps of what is not over yet, with how many elements came and the newest key.
    let mut open: Vec<(u32, u32, Option<u32>)> = Vec::new();
    let mut roots = 0;
    for token in source.tokens() {
        let (view, is_key) = match token {
            Token::Open(view) | Token::Scalar(view) => (view, false),
            Token::Key(view) => (view, true),
            Token::Close => {
                open.pop();
                continue;
            }
        };
        let (start, own) = (view.index(), steps.len() as u32);
        let (holder, place) = match open.last_mut() {
            Some((holder, _, key)) if is_key => {
                *key = Some(start);
                (*holder, Place::Key)
            }
            Some((holder, _, Some(key))) => (*holder, Place::Member(*key)),
            Some((holder, count, None)) => {
                *count += 1;
                (*holder, Place::Element(*count - 1))
            }
            None => {
                roots += 1;
                (own, Place::Root(roots - 1))
            }
        };
        steps.push(Step { start, holder, place });
        if let Token::Open(_) = token {
            open.push((own, 0, None));
        }
    }
    steps
}
