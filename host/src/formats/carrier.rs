//! Where in an input the messages stand, and what is around them.

use super::detect::is_item;
use super::json::{Source, View};
use super::{ReadError, ReadOptions};

/// The fields that hold the messages in one carrier or another.
const LISTS: [&str; 5] = ["messages", "input", "contents", "history", "traj"];

/// The fields that say what a conversation is called, where a file holds several.
const NAMES: [&str; 6] = ["id", "session_id", "sessionId", "instance_id", "task_id", "name"];

/// So many names are said.
const MOST_NAMES: usize = 8;

/// A list of messages in an input.
#[derive(Debug)]
pub(super) struct Carrier {
    /// What it is, for people.
    pub(super) name: &'static str,
    /// The array of messages, or the string that is the only one; none if they are the lines of the file.
    pub(super) list: Option<u32>,
    /// The object that holds the array, with settings beside it.
    pub(super) body: Option<u32>,
}

impl Carrier {
    /// What each conversation of an input is called there; nothing, where it has no name.
    pub(super) fn names(source: &Source) -> Result<Vec<String>, ReadError> {
        let found = Found::within(source)?;
        Ok(found.carriers.iter().map(|carrier| carrier.called(source)).collect())
    }

    /// What the conversation is called in the input.
    fn called(&self, source: &Source) -> String {
        let Some(body) = self.body.map(|body| source.at(body)) else { return String::new() };
        let said = |key: &&str| body.get(key).filter(|name| !name.is_null());
        let name = NAMES.iter().find_map(said);
        let text = |name: View<'_>| name.string().unwrap_or_else(|| name.raw().to_owned());
        name.map(text).unwrap_or_default()
    }

    /// Finds the messages.
    pub(super) fn find(source: &Source, options: &ReadOptions) -> Result<Self, ReadError> {
        let found = Found::within(source)?;
        let (count, carrier) = (found.carriers.len(), found.name);
        let pick = match options.pick {
            None if count > 1 => {
                let called = found.carriers.iter().map(|carrier| carrier.called(source));
                let mut names: Vec<String> = called.take(MOST_NAMES + 1).collect();
                names.retain(|name| !name.is_empty());
                let more = if names.len() > MOST_NAMES { ", …" } else { "" };
                let shown = names.iter().take(MOST_NAMES).map(|name| format!("`{name}`"));
                let names = shown.collect::<Vec<_>>().join(", ") + more;
                return Err(ReadError::Several { count, carrier, names });
            }
            pick => pick.unwrap_or(0),
        };
        let chosen =
            found.carriers.into_iter().nth(pick).ok_or(ReadError::NoSuchPick { pick, count })?;
        if let Some(list) = chosen.list.map(|list| source.at(list))
            && list.is_array()
            && list.items().next().is_none()
        {
            let list = list.index();
            return Err(ReadError::NoMessages { pointer: source.pointer(list) });
        }
        Ok(chosen)
    }

    /// The messages, in order.
    pub(super) fn messages<'s>(&self, source: &'s Source) -> Vec<View<'s>> {
        match self.list.map(|list| source.at(list)) {
            Some(list) if list.is_string() => vec![list],
            Some(list) => list.items().collect(),
            None => source.roots().collect(),
        }
    }
}

/// The conversations of an input.
struct Found {
    name: &'static str,
    carriers: Vec<Carrier>,
}

impl Found {
    fn within(source: &Source) -> Result<Self, ReadError> {
        let mut roots = source.roots();
        match (roots.next(), roots.next()) {
            (None, _) => Err(ReadError::Empty),
            (Some(root), None) => of_one(root),
            _ => of_lines(source),
        }
    }

    fn one(name: &'static str, list: Option<u32>, body: Option<u32>) -> Self {
        Self { name, carriers: vec![Carrier { name, list, body }] }
    }
}

fn of_one(root: View<'_>) -> Result<Found, ReadError> {
    if root.is_object() {
        if let Some(carrier) = of_object(root) {
            return Ok(Found { name: carrier.name, carriers: vec![carrier] });
        }
        if let Some(simulations) = root.get("simulations").filter(|list| list.is_array()) {
            return several("tau2 simulations", simulations.items(), simulations);
        }
        if is_message(root) {
            return Ok(Found::one("JSON lines", None, None));
        }
        if let Some(wrong) = wrong_list(root) {
            return Err(wrong);
        }
    }
    if root.is_array() {
        let mut items = root.items();
        return match items.next() {
            None => Ok(Found::one("bare array", Some(root.index()), None)),
            Some(first) if is_message(first) || !holds_conversation(first) => {
                let wrong = root.items().enumerate().find(|(_, item)| !is_message(*item));
                match wrong {
                    None => Ok(Found::one("bare array", Some(root.index()), None)),
                    Some((index, item)) => Err(ReadError::Unrecognized {
                        found: format!(
                            "an array whose element {index} is {}, not a message with a `role`",
                            item.describe()
                        ),
                    }),
                }
            }
            Some(_) => several("an array of conversations", root.items(), root),
        };
    }
    Err(ReadError::Unrecognized { found: root.describe() })
}

/// Of lines there may be a million of a few bytes each: they are walked over, not collected.
fn of_lines(source: &Source) -> Result<Found, ReadError> {
    if source.roots().all(is_message) {
        return Ok(Found::one("JSON lines", None, None));
    }
    if source.roots().all(holds_conversation) {
        let carriers = source.roots().filter_map(conversation_of).collect();
        return Ok(Found { name: "JSON lines, one conversation a line", carriers });
    }
    if let Some(wrong) = source.roots().find_map(wrong_list) {
        return Err(wrong);
    }
    let wrong = source.roots().find(|line| !is_message(*line));
    let found = wrong.map_or_else(String::new, |line| {
        let position = source.position(line.span().start);
        format!(
            "{} JSON values, of which the one in line {} is {}",
            source.roots().len(),
            position.line,
            line.describe()
        )
    });
    Err(ReadError::Unrecognized { found })
}

fn several<'a>(
    name: &'static str,
    mut items: impl Iterator<Item = View<'a>> + Clone,
    list: View<'a>,
) -> Result<Found, ReadError> {
    let carriers: Option<Vec<Carrier>> = items.clone().map(conversation_of).collect();
    if let Some(carriers) = carriers.filter(|carriers| !carriers.is_empty()) {
        return Ok(Found { name, carriers });
    }
    Err(items.find_map(wrong_list).unwrap_or_else(|| ReadError::Unrecognized {
        found: format!("{} whose elements are not all conversations", list.describe()),
    }))
}

fn holds_conversation(value: View<'_>) -> bool {
    conversation_of(value).is_some()
}

fn conversation_of(value: View<'_>) -> Option<Carrier> {
    if value.is_array() {
        let is_list = value.items().next().is_some() && value.items().all(is_message);
        return is_list.then(|| Carrier {
            name: "array of messages",
            list: Some(value.index()),
            body: None,
        });
    }
    of_object(value)
}

fn of_object(object: View<'_>) -> Option<Carrier> {
    let list = |key: &str| {
        let list = object.get(key).filter(|list| list.is_array())?;
        list.items().all(is_message).then(|| list.index())
    };
    let carrier = |name, list| Carrier { name, list: Some(list), body: Some(object.index()) };
    if let Some(messages) = list("messages") {
        let format = object.get("trajectory_format").and_then(View::text);
        let is_mini = format.is_some_and(|format| format.starts_with("mini-swe-agent"));
        let name = match () {
            () if is_mini => "mini-swe-agent trajectory",
            () if object.get("model").is_some() => "request body",
            () if object.get("task_id").is_some() => "tau2 simulation",
            () => "object with messages",
        };
        return Some(carrier(name, messages));
    }
    if let Some(items) = items_of(object) {
        let name = if object.get("model").is_some() { "request body" } else { "object with input" };
        return Some(carrier(name, items));
    }
    if let Some(contents) = object.get("contents").filter(|list| list.is_array())
        && contents.items().all(|content| content.get("parts").is_some_and(View::is_array))
    {
        return Some(carrier("request body", contents.index()));
    }
    if let Some(history) = list("history") {
        return Some(carrier("SWE-agent trajectory", history));
    }
    list("traj").map(|traj| carrier("tau-bench result", traj))
}

/// The items of a request of OpenAI Responses, or the text that is its only message. Of what stands there, each
/// has a type or a role; new types of items come up all the time.
fn items_of(object: View<'_>) -> Option<u32> {
    let input = object.get("input")?;
    let is_item = |item: View<'_>| {
        item.is_object()
            && ["type", "role"].iter().any(|key| item.get(key).is_some_and(View::is_string))
    };
    let is_request = match input.is_array() {
        true => input.items().all(is_item),
        // Much has an `input` that is a string, and is no request of a model.
        false => {
            let beside = ["model", "instructions", "tools", "previous_response_id"];
            input.is_string() && beside.into_iter().any(|key| object.get(key).is_some())
        }
    };
    is_request.then(|| input.index())
}

/// What is wrong inside the first field of `object` that by its name holds messages, if it has one and
/// no conversation.
fn wrong_list(object: View<'_>) -> Option<ReadError> {
    if is_message(object) || of_object(object).is_some() {
        return None;
    }
    let (key, list) = LISTS.iter().find_map(|key| Some((*key, object.get(key)?)))?;
    let is_wrong = |item: &View<'_>| match key {
        "input" => ["type", "role"].iter().all(|key| !item.get(key).is_some_and(View::is_string)),
        "contents" => !item.get("parts").is_some_and(View::is_array),
        _ => !is_message(*item),
    };
    let (wrong, expected) = match list.is_array() {
        true => (
            list.items().find(is_wrong)?,
            match key {
                "input" => "an item, an object whose `type` or `role` is a string,",
                "contents" => "a content, an object whose `parts` are an array,",
                _ => "a message, an object whose `role` is a string,",
            },
        ),
        false => (list, "an array of messages"),
    };
    let pointer = wrong.source().pointer(wrong.index());
    Some(ReadError::NotMessages { pointer, expected, found: wrong.describe() })
}

/// What has a role is a message, and so are a content of Gemini, whose role may be left out, and an item of
/// OpenAI Responses. Whether the role is known is for its format to say.
fn is_message(value: View<'_>) -> bool {
    let [role, kind, parts] = value.fields(["role", "type", "parts"]);
    role.is_some_and(View::is_string)
        || (parts.is_some_and(View::is_array) && value.members().count() == 1)
        || kind.and_then(View::text).is_some_and(|kind| is_item(&kind))
}
