//! The walk through one recorded session, call by call, under several orders of one ladder at once. Orders go together
//! for as long as they do the same.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use brute_core::{Conversation, Message, MessageId, Part, Role, ToolResult};

use super::descent::{Descended, Rungs};
use super::fates::Fates;
use super::figures::{Call, Compacted, Run};
use super::laws;
use super::names::{Name, Names};
use super::own::{always_kept, budget_at};
use super::recall::Recall;
use crate::archive::Digest;
use crate::ladder::{Anchor, Trigger, difference};
use crate::truncation::Truncator;

/// A prefix that is shorter is not cached by any provider whose rule is public: 1,024 tokens is the least of OpenAI's
/// and Anthropic's documentation of prompt caching.
pub(super) const LEAST_CACHED: u64 = 1_024;

/// What stands before a handle in [`way_back`](crate::archive::way_back).
const RESTORE: &str = "brute restore ";

/// A recorded session, as it is walked through.
pub(super) struct Path<'s> {
    /// All that was said.
    recorded: &'s Conversation,
    /// The same after level one.
    capped: Conversation,
    names: &'s Names,
    /// What is named after level one, by message.
    named: Vec<Arc<[Name]>>,
    /// How sizes go by the reports of the session's provider; nothing where they are counted.
    anchors: Vec<(usize, Anchor)>,
    /// Whether what each rung does is done twice and compared.
    is_checked: bool,
    /// Whether it is told what became of each message.
    is_traced: bool,
}

/// Where some orders are by now.
#[derive(Clone)]
struct Group {
    orders: Vec<usize>,
    /// The next recorded message.
    next: usize,
    conversation: Conversation,
    /// What messages of the conversation name, beyond what the recorded ones do.
    names: HashMap<MessageId, Arc<[Name]>>,
    /// What the messages named that went, by their handles in the archive.
    gone: HashMap<String, Arc<[Name]>>,
    /// What became of the recorded messages, where that is told.
    fates: Fates,
    trigger: Trigger,
    /// Messages and tokens of the last request.
    last: Option<(usize, u64)>,
    /// Tokens at the head of the next request that the last one had, if a compaction was between.
    prefix: Option<u64>,
    run: Run,
    /// Time of the trigger and of the rungs.
    spent: Duration,
}

/// The same messages with results capped as level one does.
fn capped(recorded: &Conversation, truncator: &Truncator) -> Conversation {
    let mut tools: HashMap<&str, &str> = HashMap::new();
    let mut capped = Conversation::default();
    for message in recorded.messages() {
        tools.extend(message.calls().map(|(_, call)| (&*call.id, &*call.name)));
        let cut = message.result().and_then(|(at, result)| {
            let tool = tools.get(&*result.call).copied();
            let cut = truncator.truncate(tool, result.text.as_bytes());
            cut.cut.as_ref()?;
            let mut parts = message.parts().to_vec();
            let result = ToolResult { text: cut.text.into_owned().into(), ..result.clone() };
            parts[at] = Part::ToolResult(result);
            Some(parts)
        });
        // What fits behind the same messages fits with a shorter result.
        let _ = match cut {
            Some(parts) => capped.push(message.role(), parts),
            None => capped.push_again(message),
        };
    }
    capped
}

impl<'s> Path<'s> {
    pub(super) fn new(recorded: &'s Conversation, names: &'s Names, truncator: &Truncator) -> Self {
        let capped = capped(recorded, truncator);
        let pairs = recorded.messages().iter().zip(capped.messages()).enumerate();
        let named = pairs.map(|(at, (whole, capped))| match whole.parts() == capped.parts() {
            true => Arc::clone(names.at(at)),
            false => names.in_message(capped),
        });
        let named = named.collect();
        let anchors = Vec::new();
        Self { named, recorded, capped, names, anchors, is_checked: false, is_traced: false }
    }

    pub(super) fn anchored(self, anchors: Vec<(usize, Anchor)>) -> Self {
        Self { anchors, ..self }
    }

    pub(super) fn checked(self, is_checked: bool) -> Self {
        Self { is_checked, ..self }
    }

    pub(super) fn traced(self, is_traced: bool) -> Self {
        Self { is_traced, ..self }
    }

    /// What each order of `rungs` does to the session.
    pub(super) async fn walk(&self, rungs: &Rungs) -> Vec<Run> {
        let start = Group {
            orders: (0..rungs.orders().len()).collect(),
            next: 0,
            conversation: Conversation::default(),
            names: HashMap::new(),
            gone: HashMap::new(),
            fates: Fates::default(),
            trigger: Trigger::default(),
            last: None,
            prefix: None,
            run: Run::default(),
            spent: Duration::ZERO,
        };
        let mut runs: Vec<Option<Run>> = vec![None; rungs.orders().len()];
        let mut open = vec![start];
        while let Some(mut group) = open.pop() {
            if self.comes_to_compaction(rungs, &mut group) {
                open.extend(self.compacted(rungs, group).await);
                continue;
            }
            for order in &group.orders {
                let mut run = group.run.clone();
                run.order = rungs.names(*order);
                run.milliseconds = group.spent.as_secs_f64() * 1e3;
                runs[*order] = Some(run);
            }
        }
        runs.into_iter().flatten().collect()
    }

    /// Goes on until a compaction is due, or to the end; whether one is due.
    fn comes_to_compaction(&self, rungs: &Rungs, group: &mut Group) -> bool {
        let counter = &**rungs.ladder().counter();
        while let Some(message) = self.capped.messages().get(group.next) {
            if message.role() == Role::Assistant && !group.conversation.is_empty() {
                let budget = budget_at(*rungs.ladder().budget(), &self.anchors, group.next);
                let begun = Instant::now();
                let is_due = !rungs.ladder().rungs().is_empty()
                    && group.run.last_compaction() != Some(group.next)
                    && group.trigger.is_due(&budget, &mut group.conversation, counter);
                group.spent += begun.elapsed();
                if is_due {
                    return true;
                }
                let size = budget.request(group.conversation.measure(counter));
                let common = group.prefix.take().or(group.last.map(|(_, size)| size)).unwrap_or(0);
                // By a newer report, the last request may have been smaller than was thought.
                let cached = if common < LEAST_CACHED { 0 } else { common.min(size) };
                group.run.calls.push(Call {
                    message: group.next,
                    size,
                    cached,
                    is_over: size > budget.usable(),
                });
                group.last = Some((group.conversation.len(), size));
            }
            // What was recorded in this order fits in it, whatever a compaction made of what is before.
            let pushed = group.conversation.push_again(message);
            if self.is_traced {
                let now = group.conversation.messages().last().filter(|_| pushed.is_ok());
                group.fates.push(now, &self.recorded.messages()[group.next]);
            }
            match pushed {
                Ok(id) => drop(group.names.insert(id, Arc::clone(&self.named[group.next]))),
                Err(error) => group.run.skipped.push(format!("message {}: {error}", group.next)),
            }
            group.next += 1;
        }
        false
    }

    /// The groups that a compaction splits `group` into.
    async fn compacted(&self, rungs: &Rungs, mut group: Group) -> Vec<Group> {
        let ladder = rungs.ladder();
        let budget = budget_at(*ladder.budget(), &self.anchors, group.next);
        let counter = &**ladder.counter();
        let begun = Instant::now();
        let orders = std::mem::take(&mut group.orders);
        let start = group.conversation.clone();
        let descents = rungs.descend(&start, budget, orders.clone()).await;
        let spent = begun.elapsed() / descents.len().max(1) as u32;
        let again = match self.is_checked {
            true => rungs.descend(&start, budget, orders).await,
            false => Vec::new(),
        };
        let outline = start.outline();
        let kept = always_kept(self.recorded, group.next);
        let needed = self.names.needed(group.next, &kept);
        let mut groups = Vec::with_capacity(descents.len());
        for descended in descents {
            let mut group = group.clone();
            let twin = again.iter().find(|twin| twin.orders == descended.orders);
            let violations = laws::check(&start, &outline, &descended, twin, ladder);
            let failing = (!violations.is_empty()).then(|| start.clone());
            let Descended { mut conversation, stages, fits, rungs: reports, orders, .. } =
                descended;
            if self.is_traced {
                for (rung, stage) in stages.iter().enumerate() {
                    group.fates.settle(stage, Some(rung));
                }
            }
            let (removed, added) = difference(&start, &conversation);
            let before = start.clone().measure(counter);
            let after = conversation.measure(counter);
            group.trigger.settle(&budget, &mut conversation, counter, fits);
            if rungs.is_archived() {
                let gone = removed.iter().filter_map(|message| {
                    let names = group.names.get(&message.id())?;
                    Some((Digest::of_message(message).handle(), Arc::clone(names)))
                });
                group.gone.extend(gone);
            }
            // A message that was changed keeps its id.
            for message in &added {
                group.names.insert(message.id(), self.names.in_message(message));
            }
            let reachable = reachable(&group.gone, &conversation);
            let is_there = |message: &Arc<Message>| group.names.get(&message.id()).cloned();
            let there: HashSet<Name> = conversation
                .messages()
                .iter()
                .filter_map(is_there)
                .flat_map(|names| names.to_vec())
                .collect();
            let recall = Recall::of(&needed, &there, &reachable);
            let last = group.last.map_or(0, |(messages, _)| messages);
            group.prefix =
                Some(budget.request(common_prefix(&start, last, &conversation, counter)));
            group.run.compactions.push(Compacted {
                message: group.next,
                before: budget.request(before),
                after: budget.request(after),
                fits,
                gone: removed.len(),
                new: added.len(),
                recall,
                rungs: reports,
                became: group.fates.changed(),
                violations,
                failing,
            });
            group.spent += spent;
            group.run.digest = digest(group.run.digest.as_deref(), &conversation);
            group.conversation = conversation;
            group.orders = orders;
            groups.push(group);
        }
        groups
    }
}

/// Tokens of the messages at the head of `now` that the last request, the first `last` messages of `before`, had as well.
fn common_prefix(
    before: &Conversation,
    last: usize,
    now: &Conversation,
    counter: &dyn brute_core::TokenCounter,
) -> u64 {
    let pairs = before.messages().iter().take(last).zip(now.messages());
    let same = pairs.take_while(|(before, now)| Arc::ptr_eq(before, now));
    same.map(|(before, _)| u64::from(before.tokens(counter))).sum::<u64>()
}

/// What messages named that are `gone`, and whose handles stand in the conversation `now`.
fn reachable(gone: &HashMap<String, Arc<[Name]>>, now: &Conversation) -> HashSet<Name> {
    if gone.is_empty() {
        return HashSet::new();
    }
    let parts = now.messages().iter().flat_map(|message| message.parts());
    let handles = parts.flat_map(Part::texts).flat_map(|text| {
        text.split(RESTORE).skip(1).map(|behind| {
            let end = behind.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(behind.len());
            &behind[..end]
        })
    });
    handles.filter_map(|handle| gone.get(handle)).flat_map(|names| names.to_vec()).collect()
}

/// Of all conversations that compactions left, in one string: equal where two orders did the same.
fn digest(before: Option<&str>, conversation: &Conversation) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before.unwrap_or_default().as_bytes());
    for message in conversation.messages() {
        hasher.update(Digest::of_message(message).to_string().as_bytes());
    }
    Some(hasher.finalize().to_hex()[..32].to_owned())
}
