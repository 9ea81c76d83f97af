//! Which function response answers which function call, where they have no ids.

use std::collections::{HashMap, VecDeque};

/// What every id begins with that the input does not have.
const MADE: &str = "function:";

/// Whether an id was made here, and is not to be written.
pub(super) fn is_made(id: &str) -> bool {
    id.starts_with(MADE)
}

/// The function that a made id is about.
pub(super) fn function_of(id: &str) -> Option<&str> {
    let name = id.strip_prefix(MADE)?;
    match name.rsplit_once(':') {
        Some((name, number)) if number.parse::<u32>().is_ok() => Some(name),
        _ => Some(name),
    }
}

/// Calls that wait for their response, by name and in order.
///
/// An id that is made says the name and, of calls of one name that are open together, which; so it stays
/// the same when messages before it go.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    of_name: HashMap<String, Open>,
    /// How many open calls there are of each id that the input has.
    of_id: HashMap<String, usize>,
}

/// The open calls of one name.
#[derive(Debug, Default)]
struct Open {
    /// How many ids were made since none was open.
    made: usize,
    ids: VecDeque<String>,
}

impl Pairing {
    /// Another content of the model has calls: what is open was never answered.
    pub(super) fn forget(&mut self) {
        self.of_name.clear();
        self.of_id.clear();
    }

    /// The id of a call.
    pub(super) fn call(&mut self, name: &str, given: Option<String>) -> String {
        let open = self.of_name.entry(name.to_owned()).or_default();
        let id = match given {
            Some(id) => {
                *self.of_id.entry(id.clone()).or_default() += 1;
                id
            }
            None => open.make(name),
        };
        open.ids.push_back(id.clone());
        id
    }

    /// The id of the call that a response answers.
    pub(super) fn response(&mut self, name: &str, given: Option<String>) -> String {
        if let Some(id) = given {
            if let Some(open) = self.of_id.get_mut(&id).filter(|open| **open > 0) {
                *open -= 1;
                return id;
            }
            // A call without an id may have been given one by whoever answers it.
            return self.first(name, is_made).unwrap_or(id);
        }
        match self.first(name, |_| true) {
            Some(id) => {
                if let Some(open) = self.of_id.get_mut(&id) {
                    *open = open.saturating_sub(1);
                }
                id
            }
            None => self.of_name.entry(name.to_owned()).or_default().make(name),
        }
    }

    /// The first open call of this name whose id is `wanted`.
    fn first(&mut self, name: &str, wanted: impl Fn(&str) -> bool) -> Option<String> {
        let Self { of_name, of_id } = self;
        let open = of_name.get_mut(name)?;
        // Those with an id of their own may have been answered by it meanwhile.
        let is_open = |id: &String| is_made(id) || of_id.get(id).is_some_and(|open| *open > 0);
        while open.ids.front().is_some_and(|id| !is_open(id)) {
            open.ids.pop_front();
        }
        open.ids.front().filter(|id| wanted(id))?;
        let id = open.ids.pop_front()?;
        if open.ids.is_empty() {
            open.made = 0;
        }
        Some(id)
    }
}

impl Open {
    fn make(&mut self, name: &str) -> String {
        self.made += 1;
        match self.made {
            1 => format!("{MADE}{name}"),
            number => format!("{MADE}{name}:{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_go_by_order_and_name() {
        let mut pairing = Pairing::default();
        let ids: Vec<String> =
            ["read", "run", "read"].into_iter().map(|name| pairing.call(name, None)).collect();
        assert_eq!(ids, ["function:read", "function:run", "function:read:2"]);
        let answers = ["run", "read", "read"].map(|name| pairing.response(name, None));
        assert_eq!(answers, ["function:run", "function:read", "function:read:2"]);
        // The next ones are called alike, as none is open.
        assert_eq!(pairing.call("read", None), "function:read");
        pairing.forget();
        assert_eq!(pairing.call("read", None), "function:read");
        assert_eq!(function_of("function:read:2"), Some("read"));
        assert_eq!(function_of("function:a:b"), Some("a:b"));
        assert_eq!(function_of("call_1"), None);
    }

    #[test]
    fn ids_go_before_names() {
        let mut pairing = Pairing::default();
        let call =
            |pairing: &mut Pairing, id: Option<&str>| pairing.call("read", id.map(Into::into));
        let answer =
            |pairing: &mut Pairing, id: Option<&str>| pairing.response("read", id.map(Into::into));
        for id in ["a", "b", "c"] {
            assert_eq!(call(&mut pairing, Some(id)), id);
        }
        assert_eq!(answer(&mut pairing, Some("b")), "b");
        assert_eq!(answer(&mut pairing, None), "a");
        assert_eq!(answer(&mut pairing, None), "c");
        assert_eq!(answer(&mut pairing, Some("b")), "b", "an orphan keeps its id");
        assert_eq!(call(&mut pairing, None), "function:read");
        assert_eq!(answer(&mut pairing, Some("x")), "function:read");
    }
}
