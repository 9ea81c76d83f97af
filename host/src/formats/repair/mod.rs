//! Fitting the messages together: telling what does not fit, or mending it by the least change.

mod mender;
mod strict;
mod surrogates;

pub(super) use surrogates::{lone_surrogates, surrogates};

use std::collections::{HashMap, HashSet};

use brute_core::{Conversation, Message, Part, Violation};

use self::mender::Mender;
use super::json::{Pointers, Source, View};
use super::pieces::{Piece, Pieces, Wire};
use super::slots::Slot;
use super::{Format, Problem, ReadError, Repair};

/// What stands for a result that nobody recorded.
const NO_RESULT: &str = "[no result was recorded]";

/// A conversation, and what was done to it.
pub(super) struct Mended {
    pub(super) conversation: Conversation,
    /// The messages on the wire that are to become part of the one before them.
    pub(super) joined: HashSet<usize>,
    /// Whether what results show is to stand behind all of them.
    pub(super) shows_last: bool,
}

/// The conversation of `pieces`. With `repair`, providers that are strict will take it as well.
pub(super) fn conversation(
    format: Format,
    source: &Source,
    pieces: &Pieces,
    repair: bool,
    repairs: &mut Vec<Repair>,
) -> Result<Mended, ReadError> {
    let found = Conversation::new(pieces.messages().map(|(_, message)| message));
    if !repair {
        let has_blanks = pieces.live().any(|(_, piece)| piece.is_blank);
        return match found {
            Ok(conversation) if !has_blanks => {
                Ok(Mended { conversation, joined: HashSet::new(), shows_last: false })
            }
            Ok(_) => Err(invalid(source, pieces, &[])),
            Err(found) => Err(invalid(source, pieces, &found.violations)),
        };
    }
    let already = repairs.len();
    let mut mender = Mender::new(format, source, pieces, repairs);
    mender.remove_blanks();
    mender.drop_last_thoughts();
    mender.rename_repeated_calls();
    mender.pair();
    mender.put_results_behind_calls();
    mender.begin_with_the_user();
    let shows_last = mender.show_behind_results();
    let joined = mender.join_roles();
    let messages = mender.messages();
    let is_mended = repairs.len() > already;
    repairs.sort_by_key(|repair| repair.index);
    let violations = found.as_ref().err().map_or(&[][..], |found| &found.violations);
    // What stands in a field of the body is no conversation by itself.
    let is_said =
        |message: &Message| pieces.get(message.id()).is_none_or(|piece| piece.wire != Wire::System);
    if !messages.iter().any(is_said) {
        return Err(nothing_left(invalid(source, pieces, violations), repairs));
    }
    let conversation = match found {
        Ok(conversation) if !is_mended => conversation,
        _ => {
            Conversation::new(messages).map_err(|left| invalid(source, pieces, &left.violations))?
        }
    };
    Ok(Mended { conversation, joined, shows_last })
}

/// Why nothing was left: what is wrong, or what was taken out for being of no use.
fn nothing_left(error: ReadError, repairs: &[Repair]) -> ReadError {
    match error {
        ReadError::Invalid { problems } if problems.is_empty() => {
            let problem = |Repair { index, pointer, what }: &Repair| Problem {
                index: *index,
                pointer: pointer.clone(),
                what: format!("nothing would be left once a repair {what}"),
            };
            ReadError::Invalid { problems: repairs.iter().map(problem).collect() }
        }
        error => error,
    }
}

fn invalid(source: &Source, pieces: &Pieces, violations: &[Violation]) -> ReadError {
    let pointers = Pointers::of(source);
    let mut calls = Calls::default();
    let live: Vec<&Piece> = pieces.live().map(|(_, piece)| piece).collect();
    let blanks = live.iter().filter(|piece| piece.is_blank).map(|piece| Problem {
        index: piece.wire_index(),
        pointer: pointers.pointer(blank_node(source, piece)),
        what: "a blank text, which the provider refuses".to_owned(),
    });
    let broken = violations.iter().filter_map(|violation| {
        let piece = *live.get(violation.message())?;
        let call = match violation {
            Violation::UnansweredCall { call, .. } | Violation::RepeatedCall { call, .. } => {
                Some(call)
            }
            _ => None,
        };
        let node = call.map_or(piece.node, |call| calls.node(piece, call));
        Some(Problem {
            index: piece.wire_index(),
            pointer: pointers.pointer(node),
            what: violation.to_string(),
        })
    });
    let mut problems: Vec<Problem> = blanks.chain(broken).collect();
    problems.sort_by_key(|problem| problem.index);
    ReadError::Invalid { problems }
}

/// Where the calls of a piece stand. Those of one piece are looked for one after the other.
#[derive(Default)]
struct Calls<'a> {
    of: Option<&'a Piece>,
    nodes: HashMap<&'a str, u32>,
}

impl<'a> Calls<'a> {
    /// The call `id` in `piece`, the last one of that id; the piece itself, if it has none.
    fn node(&mut self, piece: &'a Piece, id: &str) -> u32 {
        if !self.of.is_some_and(|of| std::ptr::eq(of, piece)) {
            let calls = piece.parts.iter().zip(&piece.slots);
            let calls = calls.filter_map(|(part, slot)| match (part, slot) {
                (Part::ToolCall(call), Slot::Call(node) | Slot::Element(node)) => {
                    Some((&*call.id, *node))
                }
                _ => None,
            });
            (self.of, self.nodes) = (Some(piece), calls.collect());
        }
        self.nodes.get(id).copied().unwrap_or(piece.node)
    }
}

fn blank_node(source: &Source, piece: &Piece) -> u32 {
    let blank = piece.parts.iter().zip(&piece.slots).find(|(part, _)| is_blank(part));
    match blank {
        Some((_, Slot::Element(node))) => *node,
        _ => source.at(piece.node).get("content").map_or(piece.node, View::index),
    }
}

fn is_blank(part: &Part) -> bool {
    matches!(part, Part::Text(text) if text.trim().is_empty())
}
