//! What layers have in common that make single parts smaller, oldest first, until it is enough.

use crate::{Edit, Host, MessageView, OptionsError, PartView, Plan, Window};

/// The messages, oldest first, that a layer may change which leaves the newest `keep_steps` steps that
/// call tools as they are: the model has not acted on those yet. Where fewer steps call tools, so many
/// steps of any kind are left. Protected messages are not among them.
pub fn old_messages<'a>(
    window: &Window<'a>,
    keep_steps: u32,
) -> impl DoubleEndedIterator<Item = MessageView<'a>> + use<'a> {
    let steps = usize::try_from(keep_steps).unwrap_or(usize::MAX);
    let outline = window.outline();
    let end = outline.newest_steps(steps, true).min(outline.newest_steps(steps, false));
    let window = *window;
    window.messages(0..end).filter(move |message| !window.is_protected(message.index()))
}

/// Refuses a `keep-steps` of 0: a layer that works on steps leaves the newest one alone.
///
/// # Errors
/// If it is 0.
pub fn check_keep_steps(keep_steps: u32) -> Result<(), OptionsError> {
    if keep_steps > 0 {
        return Ok(());
    }
    let message =
        "`keep-steps` is 0, and must be at least 1 step, which the model has not acted on yet";
    Err(OptionsError { option: "keep-steps", message: message.to_owned() })
}

/// Edits that a layer gathers one by one, and what they save, until they save enough.
///
/// What an edit saves is what the host will find that it saves: the size of the part now less the
/// host's count of its new text. An edit that would save nothing is not taken.
///
/// ```
/// use brute_core::{Host, LayerError, Plan, Relief, Strategy, Window, old_messages};
///
/// /// Leaves nothing but a word of old tool results.
/// struct Terse;
///
/// impl Strategy for Terse {
///     fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
///         let mut relief = Relief::of(window, host);
///         for message in old_messages(window, 1) {
///             if relief.is_enough() {
///                 break;
///             }
///             if let Some((part, _)) = message.result() {
///                 relief.rewrite(&message, part, "Removed.".to_owned());
///             }
///         }
///         Ok(relief.into_plan())
///     }
/// }
/// ```
pub struct Relief<'h> {
    host: &'h dyn Host,
    wanted: u64,
    freed: u64,
    edits: Vec<Edit>,
}

impl<'h> Relief<'h> {
    /// Nothing yet, of the excess of `window`.
    pub fn of(window: &Window<'_>, host: &'h dyn Host) -> Self {
        Self { host, wanted: window.excess(), freed: 0, edits: Vec::new() }
    }

    /// Whether the window would be under target with the edits so far.
    pub fn is_enough(&self) -> bool {
        self.freed >= self.wanted
    }

    /// What is still too much, in tokens.
    pub fn missing(&self) -> u64 {
        self.wanted.saturating_sub(self.freed)
    }

    /// Gives a part another text; for a tool call, other arguments. Not if the part would not be smaller
    /// by that, which the answer says.
    pub fn rewrite(&mut self, message: &MessageView<'_>, part: usize, text: String) -> bool {
        // The name of a call counts with its arguments.
        let name = match message.part(part) {
            Some(PartView::ToolCall { name, .. }) => self.host.count(name),
            _ => 0,
        };
        let after = name.saturating_add(self.host.count(&text));
        let saved = message.part_tokens(part).saturating_sub(after);
        self.take(saved, Edit::Rewrite { message: message.index(), part, text })
    }

    /// Takes parts of one message out, all or none: not if nothing would be saved, which the answer says.
    pub fn remove(&mut self, message: &MessageView<'_>, parts: &[usize]) -> bool {
        let saved =
            parts.iter().fold(0u32, |sum, part| sum.saturating_add(message.part_tokens(*part)));
        let message = message.index();
        self.take_all(saved, parts.iter().map(|&part| Edit::Remove { message, part }))
    }

    /// The plan of these edits; one that changes nothing if there are none.
    pub fn into_plan(self) -> Plan {
        Plan::of(self.edits)
    }

    fn take(&mut self, saved: u32, edit: Edit) -> bool {
        self.take_all(saved, [edit])
    }

    fn take_all(&mut self, saved: u32, edits: impl IntoIterator<Item = Edit>) -> bool {
        if saved > 0 {
            self.freed += u64::from(saved);
            self.edits.extend(edits);
        }
        saved > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestHost, notation};
    use crate::{Approximate, Conversation, LayerError, Strategy};

    /// Answers a window that needs `target` with what `with` makes of it.
    struct With<F>(F);

    impl<F: Fn(&Window<'_>, &dyn Host) -> Plan + Send + Sync> Strategy for With<F> {
        fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
            Ok((self.0)(window, host))
        }
    }

    fn size(conversation: &Conversation) -> u64 {
        conversation.clone().measure(&Approximate)
    }

    #[test]
    fn what_is_counted_is_what_the_host_finds() {
        let start = notation::conversation(
            "user go
             assistant think:wordx40 call:a:some_tool_name
             tool a wordx400
             assistant done",
        );
        let target = size(&start) - 30;
        let plan = With(|window: &Window<'_>, host: &dyn Host| {
            let mut relief = Relief::of(window, host);
            assert_eq!((relief.missing(), relief.is_enough()), (30, false));
            let message = window.get(1).unwrap();
            assert!(!relief.rewrite(&message, 1, r#"{"path":"much longer"}"#.to_owned()));
            assert!(relief.rewrite(&message, 1, "{}".to_owned()));
            assert_eq!(relief.missing(), 27);
            assert!(relief.remove(&message, &[0]));
            assert!(relief.is_enough());
            relief.into_plan()
        });
        let host = TestHost::new();
        let plan = host.plan(&plan, &start, target).unwrap();
        assert_eq!(plan.edits.len(), 2);
        let after = host.apply(&start, &plan).unwrap().conversation;
        assert_eq!(size(&after), size(&start) - 3 - 50);
    }

    #[test]
    fn the_newest_steps_and_what_is_protected_are_not_old() {
        let old = |text: &str, keep_steps: u32| {
            let conversation = notation::conversation(text);
            let plan = With(move |window: &Window<'_>, _: &dyn Host| {
                let drop = |message: MessageView<'_>| Edit::Drop {
                    span: message.index()..message.index() + 1,
                };
                Plan::of(old_messages(window, keep_steps).map(drop).collect())
            });
            let plan = TestHost::new().plan(&plan, &conversation, 1).unwrap();
            plan.edits.iter().map(Edit::start).collect::<Vec<_>>()
        };
        let calls = "system s\nuser a\nassistant call:a\ntool a\nuser b\nassistant call:b\ntool b\nassistant x";
        assert_eq!(old(calls, 1), [1, 2, 3]);
        assert_eq!(old(calls, 2), [1]);
        let talk = "user a\nassistant x\nuser b\nassistant y";
        assert_eq!(old(talk, 1), [0, 1]);
        assert_eq!(old(talk, 9), [0]);
        assert_eq!(old("user a\nuser b", 1), [0]);
    }
}
