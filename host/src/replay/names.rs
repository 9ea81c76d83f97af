//! What the messages of a session name: the identifiers whose survival recall is about.

use std::collections::HashMap;
use std::sync::Arc;

use brute_core::{Conversation, Message, Outline, Part, Role};
use brute_summarize::identifiers::weighed;

/// An identifier of one session.
pub(super) type Name = u32;

/// The identifiers of a session, each once, and which message names which.
#[derive(Debug)]
pub(super) struct Names {
    known: HashMap<String, Name>,
    /// By message, sorted.
    of: Vec<Arc<[Name]>>,
    roles: Vec<Role>,
}

/// An identifier that the session goes on to use after a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Needed {
    pub name: Name,
    pub origin: Origin,
    /// In how many messages of the model it is used.
    pub uses: u32,
}

/// Who named it before the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// A person did, whoever else.
    Person,
    /// A tool did, and no person.
    Tool,
    /// The model alone.
    Model,
}

/// A symbol counts where it occurs once, too: what is needed is said by what is used, not by how often it occurs.
const ALWAYS: usize = 2;

impl Names {
    pub(super) fn of(conversation: &Conversation) -> Self {
        let mut known: HashMap<String, Name> = HashMap::new();
        let mut of = Vec::with_capacity(conversation.len());
        for message in conversation.messages() {
            let mut names: Vec<Name> = Vec::new();
            each_name(message, |name| {
                let next = known.len() as Name;
                names.push(*known.entry(name.to_owned()).or_insert(next));
            });
            of.push(sorted(names));
        }
        let roles = conversation.messages().iter().map(|message| message.role()).collect();
        Self { known, of, roles }
    }

    /// What of these names a message has that is none of the session.
    pub(super) fn in_message(&self, message: &Message) -> Arc<[Name]> {
        let mut names = Vec::new();
        each_name(message, |name| names.extend(self.known.get(name).copied()));
        sorted(names)
    }

    pub(super) fn at(&self, message: usize) -> &Arc<[Name]> {
        &self.of[message]
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// The names that occur before message `cut` and nowhere in what is always `kept`, and that the model goes on to
    /// use before anybody tells them to it again.
    pub(super) fn needed(&self, cut: usize, kept: &[usize]) -> Vec<Needed> {
        let mut origins: Vec<Option<Origin>> = vec![None; self.len()];
        for (names, role) in self.of.iter().zip(&self.roles).take(cut) {
            for name in names.iter() {
                let origin = &mut origins[*name as usize];
                *origin = Some(match (role, *origin) {
                    (Role::User, _) | (_, Some(Origin::Person)) => Origin::Person,
                    (Role::Tool | Role::Other, _) | (_, Some(Origin::Tool)) => Origin::Tool,
                    (Role::Assistant | Role::System, _) => Origin::Model,
                });
            }
        }
        for message in kept {
            self.of[*message].iter().for_each(|name| origins[*name as usize] = None);
        }
        let mut uses = vec![0_u32; self.len()];
        let mut is_told = vec![false; self.len()];
        for (names, role) in self.of.iter().zip(&self.roles).skip(cut) {
            for name in names.iter().map(|name| *name as usize) {
                match role {
                    Role::Assistant if uses[name] > 0 || !is_told[name] => uses[name] += 1,
                    Role::Assistant => {}
                    _ => is_told[name] = true,
                }
            }
        }
        let needed = origins.into_iter().zip(uses).zip(0..);
        needed
            .filter_map(|((origin, uses), name)| Some(Needed { name, origin: origin?, uses }))
            .filter(|needed| needed.uses > 0)
            .collect()
    }

    /// Messages that no ladder gives up, of those before `cut`: the instructions, the task, and the newest step.
    pub(super) fn always_kept(outline: &Outline, cut: usize) -> Vec<usize> {
        let newest = outline.newest_steps(1, false);
        let mut kept: Vec<usize> = outline.instructions.clone().collect();
        kept.extend(outline.task);
        kept.extend(newest..cut);
        kept
    }
}

fn each_name(message: &Message, mut found: impl FnMut(&str)) {
    let texts = message.parts().iter().flat_map(Part::texts).map(|text| (text, ALWAYS));
    weighed(texts).iter().for_each(|identifier| found(identifier.text));
}

fn sorted(mut names: Vec<Name>) -> Arc<[Name]> {
    names.sort_unstable();
    names.dedup();
    names.into()
}
