//! Going back to what a conversation in code was before it was compacted.

use std::sync::Arc;

use brute_core::{Conversation, Mark, Message, MessageId, Part};

use super::exchange::Told;
use super::record::Records;
use super::restore::Opened;
use super::{Archive, ArchiveError, Damage, Digest, Flaw};

/// A conversation in code as it was, with what was said since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    /// The conversation. Messages have the ids that they had, unless one of those is given twice by now; then they
    /// count up.
    pub conversation: Conversation,
    /// How many compactions were undone.
    pub compactions: usize,
    /// Why it is not all that was said.
    pub flaws: Vec<Flaw>,
    /// What is wrong with the file that it came from. If a compaction stood there, those before it are not undone.
    pub damage: Vec<Damage>,
}

impl Archive {
    /// The conversation as it was before the compactions that [`Session::exchanged`] archived, as a
    /// [`Guard`](crate::guard::Guard) does, with what was said since behind it. One that was never compacted comes
    /// back as it is. `session` is what the guard calls it.
    ///
    /// A compaction is undone where the conversation begins with what it left, message for message, from the last to
    /// the first. One that was not made in the end, or is of another conversation, is passed over.
    ///
    /// ```
    /// use brute_host::core::{Conversation, Message, MessageId, Part, Role};
    /// use brute_host::archive::{Archive, ArchiveOptions};
    ///
    /// let say = |id, text: &str| Message::new(MessageId(id), Role::User, [Part::text(text)]);
    /// let before = Conversation::new([say(0, "a long story"), say(1, "go on")])?;
    /// let mut now = Conversation::new([say(2, "a story"), say(1, "go on")])?;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let archive = Archive::at(folder.path(), ArchiveOptions::default());
    /// archive.session("mine")?.exchanged(&before, &now)?;
    /// now.push(Role::Assistant, [Part::text("gladly")])?;
    /// let original = archive.original("mine", &now)?.conversation;
    /// assert_eq!(original.messages()[..2], *before.messages());
    /// assert_eq!(original.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such session, none of what compactions left in the conversation is known, or the archive cannot
    /// be read or lacks what should be there.
    ///
    /// [`Session::exchanged`]: super::Session::exchanged
    pub fn original(
        &self,
        session: &str,
        conversation: &Conversation,
    ) -> Result<Original, ArchiveError> {
        let path = self.existing(&self.file_name(session))?;
        let opened = Opened::read(&path)?;
        let records = opened.records()?;
        let told = |message: &Arc<Message>| Told {
            message: Arc::clone(message),
            digest: Digest::of_all(message),
        };
        let mut now: Vec<Told> = conversation.messages().iter().map(told).collect();
        let mut compactions = 0;
        for exchange in records.exchanges.iter().rev() {
            if !exchange.fits(&now) {
                continue;
            }
            let undone = exchange
                .undo(&now, |id, digest| message_of(&records, id, digest))
                .map_err(|digest| ArchiveError::Lacks { path: path.clone(), digest })?;
            if let Some(whole) = undone {
                now = whole;
                compactions += 1;
            }
        }
        let texts = now.iter().flat_map(|told| told.message.parts()).flat_map(Part::texts);
        let marks = texts.filter(|text| Mark::read(text).is_some()).count();
        if marks > 0 && compactions == 0 {
            return Err(ArchiveError::Unknown { marks, folder: self.folder.clone() });
        }
        let flaws = (marks > 0).then_some(Flaw::Marks(marks)).into_iter().collect();
        let damage = opened.damage(&records);
        Ok(Original { conversation: conversation_of(&now)?, compactions, flaws, damage })
    }
}

/// The message of this digest, if it is there and says what it is told by.
fn message_of(records: &Records<'_>, id: u64, digest: Digest) -> Option<Arc<Message>> {
    let said = records.messages.get(&digest)?;
    let message = Message::new(MessageId(id), said.role, said.parts.to_vec());
    (Digest::of_all(&message) == digest).then(|| Arc::new(message))
}

fn conversation_of(messages: &[Told]) -> Result<Conversation, ArchiveError> {
    let as_they_are = messages.iter().map(|told| (*told.message).clone());
    let counted_up = (0..).zip(messages).map(|(id, told)| {
        let parts: Arc<[Part]> = told.message.parts().into();
        Message::new(MessageId(id), told.message.role(), parts)
    });
    Conversation::new(as_they_are)
        .or_else(|_| Conversation::new(counted_up))
        .map_err(|_| ArchiveError::NoWayBack)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use brute_core::testing::generate;
    use brute_core::{Media, Role, ToolResult};
    use proptest::prelude::*;

    use super::*;
    use crate::archive::{ArchiveOptions, Session};

    fn archive(folder: &Path) -> Archive {
        Archive::at(folder, ArchiveOptions::default())
    }

    /// A user for each letter, by ids from 0.
    fn letters(letters: &str) -> Conversation {
        Conversation::new((0..).zip(letters.chars()).map(|(id, letter)| say(id, letter))).unwrap()
    }

    fn say(id: u64, letter: char) -> Message {
        Message::new(MessageId(id), Role::User, [Part::text(letter.to_string())])
    }

    /// What became of a conversation: messages by their ids.
    fn left(before: &Conversation, ids: &[(u64, char)]) -> Conversation {
        let messages = ids.iter().map(|(id, letter)| say(*id, *letter));
        Conversation::new(messages).unwrap().with_next_id(before.next_id())
    }

    fn read(conversation: &Conversation) -> String {
        conversation.messages().iter().flat_map(|message| message.parts()[0].texts()).collect()
    }

    fn says(conversation: &Conversation) -> Vec<(Role, Vec<Part>)> {
        let messages = conversation.messages().iter();
        messages.map(|message| (message.role(), message.parts().to_vec())).collect()
    }

    #[test]
    fn only_what_became_of_this_conversation_is_undone() {
        let before = letters("abcabcd");
        let as_it_was = |ids: &[u64]| {
            let ids: Vec<_> = ids.iter().map(|id| (*id, b"abcabcd"[*id as usize].into())).collect();
            left(&before, &ids)
        };
        // What a compaction left, what the conversation is now, and what is given back.
        let table = [
            (
                "all of it",
                as_it_was(&[0, 6]),
                left(&before, &[(0, 'a'), (6, 'd'), (7, 'e')]),
                "abcabcde",
            ),
            ("it was not made", as_it_was(&[0, 6]), before.clone(), "abcabcd"),
            ("begins alike, and was made", as_it_was(&[0, 4, 5]), as_it_was(&[0, 4, 5]), "abcabcd"),
            ("begins alike, and was not", as_it_was(&[0, 4, 5]), before.clone(), "abcabcd"),
            (
                "its end was cut",
                as_it_was(&[0, 1]),
                left(&before, &[(0, 'a'), (1, 'b'), (7, 'x')]),
                "abcabcdx",
            ),
            ("its end was not cut", as_it_was(&[0, 1]), before.clone(), "abcabcd"),
            ("another one", as_it_was(&[0, 6]), letters("axd"), "axd"),
            ("ids of another run", as_it_was(&[0, 6]), letters("ade"), "abcabcde"),
        ];
        for (what, after, now, expected) in table {
            let root = tempfile::tempdir().unwrap();
            let archive = archive(root.path());
            archive.session("s").unwrap().exchanged(&before, &after).unwrap();
            let original = archive.original("s", &now).unwrap();
            assert_eq!(read(&original.conversation), expected, "{what}");
        }
    }

    #[test]
    fn what_is_not_there_is_said_and_not_made_up() {
        let root = tempfile::tempdir().unwrap();
        let archive = archive(root.path());
        let missing = archive.original("s", &letters("a")).unwrap_err();
        assert!(matches!(missing, ArchiveError::NoSession { .. }));
        let first = letters("abcd");
        let second = left(&first, &[(0, 'a'), (4, 'N'), (3, 'd')]);
        let third = left(&second, &[(0, 'a'), (5, 'M')]);
        let mut session = archive.session("s").unwrap();
        session.exchanged(&first, &second).unwrap();
        session.exchanged(&second, &third).unwrap();
        let text = fs::read_to_string(session.path()).unwrap();
        let with = |text: String| {
            fs::write(session.path(), text).unwrap();
            archive.original("s", &third)
        };
        let whole = with(text.clone()).unwrap();
        assert_eq!((read(&whole.conversation).as_str(), whole.compactions), ("abcd", 2));
        assert_eq!((whole.flaws, whole.damage), (vec![], vec![]));
        // A message is another one now, or is gone.
        for (from, to) in [("\"text\":\"b\"", "\"text\":\"x\""), ("\"message\"", "\"what\"")] {
            assert!(text.contains(from), "{text}");
            let error = with(text.replacen(from, to, 1)).unwrap_err();
            assert!(matches!(error, ArchiveError::Lacks { .. }), "{error}");
        }
        // The last compaction is gone: what it left is not known. The first one is: nothing before it is given back.
        let at = text.rfind("{\"record\":\"exchange\"").unwrap();
        let torn = with(text[..at + 40].to_owned()).unwrap();
        assert_eq!((read(&torn.conversation).as_str(), torn.compactions), ("aM", 0));
        assert_eq!(torn.damage, [Damage::Torn { path: session.path().to_owned() }]);
        let damaged = with(text.replacen("\"exchange\"", "\"what\"", 1)).unwrap();
        assert_eq!((read(&damaged.conversation).as_str(), damaged.compactions), ("aNd", 1));
        assert!(matches!(damaged.damage[..], [Damage::Line { .. }]));
    }

    #[test]
    fn messages_of_one_name_are_told_apart() {
        let root = tempfile::tempdir().unwrap();
        let archive = archive(root.path());
        let media = |tokens| Part::Media(Media { kind: "image/png".into(), tokens, bytes: 8 });
        let messages = [media(1), media(2), Part::text("last")];
        let messages =
            (0..).zip(messages).map(|(id, part)| Message::new(MessageId(id), Role::User, [part]));
        let before = Conversation::new(messages).unwrap();
        let names: Vec<_> =
            before.messages().iter().map(|message| Digest::of_message(message)).collect();
        assert_eq!(names[0], names[1]);
        let after = Conversation::new([(*before.messages()[2]).clone()]).unwrap();
        archive.session("s").unwrap().exchanged(&before, &after).unwrap();
        assert_eq!(archive.original("s", &after).unwrap().conversation, before);
        assert!(archive.find(&names[0].handle(), None).is_ok());
        let error = |is_error| {
            let result =
                ToolResult { call: "c".into(), text: "t".into(), media: Box::default(), is_error };
            Digest::of_all(&Message::new(MessageId(0), Role::Tool, [Part::ToolResult(result)]))
        };
        assert_ne!(error(true), error(false));
    }

    /// Takes out some messages from `from` on, as few as leave a conversation, and has a note come in their place.
    fn compacted(before: &Conversation, from: usize, notes: bool) -> Option<Conversation> {
        let fork = before.fork();
        let from = from % before.len().max(1);
        (from + 1..=before.len()).find_map(|to| {
            let messages = before.messages();
            let kept = |range: &[Arc<Message>]| range.iter().map(|one| (**one).clone()).collect();
            let mut now: Vec<Message> = kept(&messages[..from]);
            let note = Message::new(fork.next_id(), Role::User, [Part::text("gone")]);
            now.extend(notes.then_some(note));
            now.extend::<Vec<_>>(kept(&messages[to..]));
            let now = Conversation::new(now).ok()?.with_next_id(fork.next_id());
            // What waits for its result stays.
            let waits = |of: &Conversation| of.outline().pending.len();
            (waits(&now) == waits(before)).then_some(now)
        })
    }

    #[derive(Debug, Clone)]
    struct Round {
        from: usize,
        notes: bool,
        /// Whether it is made, or comes to nothing.
        is_made: bool,
        since: Vec<char>,
    }

    fn round() -> impl Strategy<Value = Round> {
        let since = prop::collection::vec(prop::char::range('a', 'c'), 0..4);
        (any::<usize>(), any::<bool>(), prop::bool::weighted(0.7), since)
            .prop_map(|(from, notes, is_made, since)| Round { from, notes, is_made, since })
    }

    fn keep(session: &mut Session, before: &Conversation, after: &Conversation) {
        session.exchanged(before, after).unwrap();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn all_that_was_said_comes_back(
            start in generate::conversation(12),
            rounds in prop::collection::vec(round(), 1..6),
        ) {
            let root = tempfile::tempdir().unwrap();
            let archive = archive(root.path());
            let mut session = archive.session("s").unwrap();
            // Something is there, if nothing is to be undone.
            keep(&mut session, &letters("zyx"), &letters("z"));
            let (mut now, mut said, mut made) = (start.clone(), says(&start), 0);
            for round in rounds {
                if let Some(after) = compacted(&now, round.from, round.notes) {
                    keep(&mut session, &now, &after);
                    if round.is_made {
                        made += 1;
                        now = after;
                    }
                }
                for letter in round.since {
                    if now.push(Role::User, [Part::text(letter.to_string())]).is_ok() {
                        said.extend(says(&now).pop());
                    }
                }
            }
            // All of `now` may be what is left of a text of a compaction that the start began with.
            match archive.original("s", &now) {
                Ok(original) => {
                    prop_assert_eq!(says(&original.conversation), said);
                    prop_assert_eq!(original.compactions, made);
                }
                Err(ArchiveError::Unknown { .. }) => prop_assert_eq!(made, 0),
                Err(error) => panic!("{error}"),
            }
        }
    }
}
