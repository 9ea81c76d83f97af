//! Which messages of a session were taken back.
//!
//! Each record names the one before it. Where somebody goes back to an earlier point and says something
//! else, two branches leave that point, and only the newer one is in the context. But branches also leave
//! from every reply with several calls, whose results each name their own call; these all count. So a
//! branch is taken back only if what the session went on with, at the point where it left, was said by
//! a person.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// What a record is to the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turn {
    /// A person, or the agent for one, says something.
    Prompt,
    /// A piece of a reply, with the reply's id.
    Reply(Option<String>),
    /// Results only.
    Result,
}

/// A record.
#[derive(Debug)]
pub(super) struct Node {
    /// What it is to the conversation; none if it is no message.
    pub(super) turn: Option<Turn>,
    /// The entries that came of it.
    pub(super) entries: Range<usize>,
}

/// All records, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Tree {
    places: HashMap<u64, usize>,
    nodes: Vec<Node>,
    parents: Vec<Option<usize>>,
}

fn key(uuid: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    uuid.hash(&mut hasher);
    hasher.finish()
}

impl Tree {
    pub(super) fn knows(&self, uuid: &str) -> bool {
        self.places.contains_key(&key(uuid))
    }

    pub(super) fn add(&mut self, uuid: &str, parent: Option<&str>, node: Node) {
        let parent = parent.and_then(|parent| self.places.get(&key(parent)).copied());
        if let std::collections::hash_map::Entry::Vacant(place) = self.places.entry(key(uuid)) {
            place.insert(self.nodes.len());
            self.parents.push(parent);
            self.nodes.push(node);
        }
    }

    /// The entries that were taken back.
    pub(super) fn rewound(&self) -> Vec<usize> {
        let Some(newest) = self.nodes.iter().rposition(|node| !node.entries.is_empty()) else {
            return Vec::new();
        };
        let count = self.nodes.len();
        // For each record on the way to the newest one, the record that the way goes on with, and
        // whether the next message on it is a person's.
        let mut next: Vec<Option<usize>> = vec![None; count];
        let mut is_on = vec![false; count];
        let mut asked = vec![false; count];
        let (mut at, mut is_prompt) = (newest, false);
        loop {
            is_on[at] = true;
            asked[at] = is_prompt;
            if let Some(turn) = &self.nodes[at].turn {
                is_prompt = *turn == Turn::Prompt;
            }
            let Some(parent) = self.parents[at] else { break };
            next[parent] = Some(at);
            at = parent;
        }
        // The records that branches off that way begin with. Parents stand before their children.
        let mut roots: Vec<Option<usize>> = vec![None; count];
        let mut speaks = vec![false; count];
        for at in (0..count).filter(|at| !is_on[*at]) {
            let Some(parent) = self.parents[at] else { continue };
            let root = if is_on[parent] { Some(at) } else { roots[parent] };
            roots[at] = root;
            let Some(root) = root else { continue };
            let from = self.parents[root].map(|from| &self.nodes[from].turn);
            speaks[root] |= match &self.nodes[at].turn {
                Some(Turn::Prompt) => true,
                reply @ Some(Turn::Reply(_)) => from != Some(reply),
                _ => false,
            };
        }
        let is_rewound = |at: &usize| {
            let Some(root) = roots[*at] else { return false };
            let Some(from) = self.parents[root] else { return false };
            speaks[root] && asked[from] && next[from].is_some_and(|next| root < next)
        };
        let rewound = (0..count).filter(is_rewound);
        rewound.flat_map(|at| self.nodes[at].entries.clone()).collect()
    }
}
