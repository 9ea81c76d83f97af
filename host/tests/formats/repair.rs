//! What was broken is taken by strict providers once it is repaired, and what was not is left alone.

use super::*;

/// What happens to logs.
#[derive(Debug, Clone)]
enum Damage {
    Lost(Index),
    Doubled(Index),
    Moved(Index, Index),
    Blank(Index),
}

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let damage = prop_oneof![
        any::<Index>().prop_map(Damage::Lost),
        any::<Index>().prop_map(Damage::Doubled),
        any::<(Index, Index)>().prop_map(|(from, to)| Damage::Moved(from, to)),
        any::<Index>().prop_map(Damage::Blank),
    ];
    prop::collection::vec(damage, 1..5)
}

fn damaged(format: Format, mut messages: Vec<Value>, damages: Vec<Damage>) -> Vec<Value> {
    for damage in damages {
        let len = messages.len();
        match damage {
            Damage::Lost(at) if len > 1 => drop(messages.remove(at.index(len))),
            Damage::Lost(_) => {}
            Damage::Doubled(at) => messages.insert(at.index(len), messages[at.index(len)].clone()),
            Damage::Moved(from, to) => {
                let message = messages.remove(from.index(len));
                messages.insert(to.index(len), message);
            }
            Damage::Blank(at) => {
                let blank = match format {
                    Format::Gemini => serde_json::json!({"role": "model", "parts": []}),
                    _ => serde_json::json!({"role": "assistant", "content": ""}),
                };
                messages.insert(at.index(len), blank);
            }
        }
    }
    messages
}

proptest! {
    #[test]
    fn what_is_repaired_is_taken_by_strict_providers(
        format in formats(),
        turns in turns(),
        damages in damages(),
    ) {
        let messages = damaged(format, wire(format, &turns), damages);
        let options = ReadOptions { format: Some(format), repair: true, ..ReadOptions::default() };
        let json = Value::from(messages).to_string();
        // Nothing may be left of results alone.
        let Ok(repaired) = Document::read(json.clone(), &options) else { return Ok(()) };
        // The newest calls may still wait for their results.
        if !repaired.conversation().outline().pending.is_empty() {
            return Ok(());
        }
        let written = repaired.write(repaired.conversation(), &WriteOptions::default()).into_owned();
        let broken = strict(format, &list(written.clone()));
        // In OpenAI's formats the model may begin.
        let is_meant = |what: &String| takes_turns(format) || !what.contains("begin with");
        let broken: Vec<String> = broken.into_iter().filter(is_meant).collect();
        prop_assert_eq!(broken, Vec::<String>::new(), "{}\n{}\n{:?}", json, String::from_utf8_lossy(&written), repaired.repairs());
        let again = Document::read(written, &options).unwrap();
        prop_assert!(again.repairs().is_empty(), "{:?}", again.repairs());
    }

    #[test]
    fn what_is_not_broken_is_left_alone(format in formats(), turns in turns(), seed: u64) {
        let json = document(format, &turns, seed);
        let options = ReadOptions { format: Some(format), repair: true, ..ReadOptions::default() };
        let read = Document::read(json.clone(), &options).unwrap();
        prop_assert!(read.repairs().is_empty(), "{:?}", read.repairs());
        prop_assert_eq!(read.write(read.conversation(), &WriteOptions::default()), json.as_bytes());
    }
}

fn takes_turns(format: Format) -> bool {
    matches!(format, Format::Anthropic | Format::Gemini)
}
