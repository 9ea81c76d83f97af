//! No text of a log is lost without a word: each is in what is read, or counted among what is passed over, or stands in a
//! field that [`Kind::bookkeeping`] names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::*;
use crate::transcripts::Left;

/// What stands for a text: nothing else says it.
const WORDS: &str = "zqxv words that stand nowhere else";

/// A value in a log: its root, and its pointer there.
type Place = (usize, String);

/// A log of JSON, which can be written again with other texts in it.
#[derive(Clone)]
struct Log {
    roots: Vec<Value>,
}

impl Log {
    fn of(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let whole = serde_json::from_str(text).map(|root| vec![root]);
        let lines = || values(bytes);
        let roots = whole.unwrap_or_else(|_| lines());
        (!roots.is_empty()).then_some(Self { roots })
    }

    fn bytes(&self) -> Vec<u8> {
        let lines: Vec<String> = self.roots.iter().map(Value::to_string).collect();
        lines.join("\n").into_bytes()
    }

    /// All texts of at least `least` bytes.
    fn texts(&self, least: usize) -> Vec<Place> {
        let mut found = Vec::new();
        for (root, value) in self.roots.iter().enumerate() {
            let mut open = vec![(String::new(), value)];
            while let Some((pointer, value)) = open.pop() {
                match value {
                    Value::String(text) if text.len() >= least => found.push((root, pointer)),
                    Value::Array(items) => {
                        let items = items.iter().enumerate();
                        open.extend(items.map(|(at, item)| (format!("{pointer}/{at}"), item)));
                    }
                    Value::Object(members) => open.extend(members.iter().map(|(key, value)| {
                        let key = key.replace('~', "~0").replace('/', "~1");
                        (format!("{pointer}/{key}"), value)
                    })),
                    _ => {}
                }
            }
        }
        found
    }

    fn with(&self, (root, pointer): &Place, words: &str) -> Self {
        let mut log = self.clone();
        *log.roots[*root].pointer_mut(pointer).unwrap() = Value::from(words);
        log
    }

    fn without(&self, (root, pointer): &Place) -> Self {
        let mut log = self.clone();
        let Some((holder, key)) = pointer.rsplit_once('/') else {
            log.roots.remove(*root);
            return log;
        };
        match log.roots[*root].pointer_mut(holder) {
            Some(Value::Array(items)) => drop(items.remove(key.parse().unwrap())),
            Some(Value::Object(members)) => {
                members.remove(&key.replace("~1", "/").replace("~0", "~"));
            }
            _ => {}
        }
        log
    }
}

/// All that comes of a log.
#[derive(PartialEq, Eq)]
struct Read {
    requests: Vec<String>,
    /// All words of it, and of what is told beside.
    said: String,
    skipped: BTreeMap<(String, &'static str), usize>,
}

fn read_all(log: &Log, kind: Kind, pick: Option<usize>) -> Read {
    let (mut requests, mut said) = (Vec::new(), String::new());
    let mut skipped = BTreeMap::new();
    for whole in [true, false] {
        let options = Options { whole, kind: Some(kind), pick };
        let read = match read(log.bytes().as_slice(), &options) {
            Ok(Input::Transcript(read)) => read,
            Ok(Input::Other(_)) => continue,
            Err(error) => {
                said.push_str(&error.to_string());
                continue;
            }
        };
        said.push_str(read.request());
        // A record that is passed over may name the model.
        let model = read.model().map(|model| format!("\"model\":{},", Value::from(model)));
        requests.push(match model {
            Some(model) => read.request().replacen(&model, "", 1),
            None => read.request().to_owned(),
        });
        said.push_str(read.model().unwrap_or_default());
        for compaction in read.compactions() {
            if let Left::Summary(text) = &compaction.left {
                said.push_str(text);
            }
        }
        for problem in read.problems() {
            said.push_str(&problem.what);
            *skipped.entry((problem.what.clone(), "")).or_default() += 1;
        }
        for skipped_kind in read.skipped() {
            said.push_str(&skipped_kind.kind);
            let count = skipped.entry((skipped_kind.kind.clone(), skipped_kind.why)).or_default();
            *count += skipped_kind.count;
        }
    }
    Read { requests, said, skipped }
}

/// Whether less is passed over without something, and the same is said.
fn is_less(before: &Read, after: &Read) -> bool {
    before.requests == after.requests
        && before.skipped.iter().any(|(kind, count)| after.skipped.get(kind).unwrap_or(&0) < count)
}

fn is_bookkeeping(kind: Kind, path: &str) -> bool {
    let path = format!("{path}.");
    kind.bookkeeping().iter().any(|field| match field.strip_prefix('/') {
        Some(field) => path.starts_with(&format!(".{field}.")),
        None => path.contains(&format!(".{field}.")),
    })
}

/// Whether another field says the same, and is read.
fn is_said_elsewhere(log: &Log, (root, pointer): &Place, before: &Read) -> bool {
    /// Shorter texts are the same by chance.
    const LEAST: usize = 12;
    let Some(Value::String(text)) = log.roots[*root].pointer(pointer) else { return false };
    let quoted = Value::from(text.as_str()).to_string();
    text.len() >= LEAST && before.said.contains(quoted.trim_matches('"'))
}

/// The texts among `texts` that are lost, by the fields that lead to them.
fn lost(log: &Log, texts: &[Place], kind: Kind, pick: Option<usize>) -> BTreeSet<String> {
    let before = read_all(log, kind, pick);
    let mut lost = BTreeSet::new();
    for place in texts {
        let steps = place.1.split('/').filter(|step| step.parse::<usize>().is_err());
        let path = steps.collect::<Vec<_>>().join(".");
        let is_bookkeeping = is_bookkeeping(kind, &path) || is_said_elsewhere(log, place, &before);
        if is_bookkeeping || lost.contains(&path) {
            continue;
        }
        let changed = read_all(&log.with(place, WORDS), kind, pick);
        if changed.said.contains(WORDS) || changed != before {
            continue;
        }
        let holders = std::iter::successors(Some(place.1.as_str()), |pointer| {
            pointer.rsplit_once('/').map(|(holder, _)| holder)
        });
        let is_told = holders
            .map(|pointer| read_all(&log.without(&(place.0, pointer.to_owned())), kind, pick))
            .any(|without| is_less(&before, &without));
        if !is_told {
            lost.insert(path);
            println!("{kind}: {place:?}");
        }
    }
    lost
}

fn kind_of(bytes: &[u8], pick: Option<usize>) -> Option<Kind> {
    match read(bytes, &Options { pick, ..Options::default() }) {
        Ok(Input::Transcript(read)) => Some(read.kind()),
        _ => None,
    }
}

#[test]
fn no_text_is_lost_without_a_word() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transcripts");
    let mut seen = BTreeSet::new();
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let (bytes, pick) = (sample(&name), pick_of(&name));
        let kind = kind_of(&bytes, pick).unwrap();
        seen.insert(kind.name());
        if kind == Kind::Aider {
            continue;
        }
        let mut log = Log::of(&bytes).unwrap();
        // What is of other conversations is not to be read.
        if pick.is_some() && log.roots.len() > 1 {
            log.roots.truncate(1);
        }
        let mut texts = log.texts(1);
        texts.retain(|(_, pointer)| !pointer.starts_with("/samples/1"));
        let found = lost(&log, &texts, kind, pick);
        if !found.is_empty() {
            all.insert(name, found);
        }
    }
    assert_eq!(all, BTreeMap::new());
    assert_eq!(seen.len(), Kind::ALL.len(), "a sample of each kind");
}

/// The same over logs in the folder that `BRUTE_CORPUS` names: of each field, the longest text.
#[test]
#[ignore = "it reads every log some hundred times"]
fn no_text_of_real_logs_is_lost_without_a_word() {
    const LEAST: usize = 25;
    let most = std::env::var("BRUTE_LOSSLESS_MOST").ok().and_then(|most| most.parse().ok());
    let Some(folder) = std::env::var_os("BRUTE_CORPUS") else { return };
    let mut all = BTreeMap::new();
    for path in files(Path::new(&folder)) {
        let bytes = std::fs::read(&path).unwrap();
        let pick = match read(bytes.as_slice(), &Options::default()) {
            Err(crate::transcripts::TranscriptError::Several { .. }) => Some(0),
            _ => None,
        };
        let Some(kind) = kind_of(&bytes, pick).filter(|kind| *kind != Kind::Aider) else {
            continue;
        };
        let Some(log) = Log::of(&bytes).filter(|_| bytes.len() < most.unwrap_or(2 << 20)) else {
            println!("left out: {}", path.display());
            continue;
        };
        let mut longest: BTreeMap<String, (usize, Place)> = BTreeMap::new();
        let is_read = |(root, pointer): &Place| {
            let is_first = pointer.strip_prefix("/samples/").is_none_or(|at| at.starts_with("0/"));
            pick.is_none() || (*root == 0 && is_first)
        };
        for place in log.texts(LEAST).into_iter().filter(is_read) {
            let record = ["type", "kind", "source", "action", "observation", "role"].map(|key| {
                let at = |value: &Value| value[key].as_str().map(str::to_owned);
                at(&log.roots[place.0]).or_else(|| at(&log.roots[place.0]["payload"]))
            });
            let steps = place.1.split('/').filter(|step| step.parse::<usize>().is_err());
            let path = format!("{record:?} {}", steps.collect::<Vec<_>>().join("."));
            let length = log.roots[place.0].pointer(&place.1).unwrap().as_str().unwrap().len();
            let newest = longest.entry(path).or_insert((0, place.clone()));
            if length > newest.0 {
                *newest = (length, place);
            }
        }
        let texts: Vec<Place> = longest.into_values().map(|(_, place)| place).take(400).collect();
        let found = lost(&log, &texts, kind, pick);
        println!("{kind} {} {} texts: {found:#?}", path.display(), texts.len());
        if !found.is_empty() {
            all.insert(path, found);
        }
    }
    assert_eq!(all, BTreeMap::new());
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}
