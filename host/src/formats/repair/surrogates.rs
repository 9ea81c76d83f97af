//! Halves of surrogate pairs: no text holds them, and providers refuse them.

use crate::formats::carrier::Carrier;
use crate::formats::json::{Pointers, Source, View};
use crate::formats::{Problem, ReadError, ReadOptions, Repair};

/// Where a half of a surrogate pair stands alone. No text holds that, and providers refuse it.
pub(in crate::formats) fn lone_surrogates(
    source: &Source,
    options: &ReadOptions,
) -> Result<Vec<Problem>, ReadError> {
    let carrier = Carrier::find(source, options)?;
    let messages: Vec<_> = carrier.messages(source).into_iter().map(View::span).collect();
    let pointers = Pointers::of(source);
    let problem = |&offset: &usize| {
        let found = messages.partition_point(|message| message.start <= offset).checked_sub(1);
        Problem {
            index: found.filter(|found| messages[*found].contains(&offset)),
            pointer: pointers.pointer(offset as u32),
            what: format!(
                "`{}` is half of a surrogate pair, which no provider accepts",
                &source.text()[offset..offset + 6]
            ),
        }
    };
    Ok(source.lone_surrogates().iter().map(problem).collect())
}

/// Puts U+FFFD in the place of every half of a surrogate pair, in the text itself.
pub(in crate::formats) fn surrogates(
    source: Source,
    problems: Vec<Problem>,
) -> (Source, Vec<Repair>) {
    let repairs = problems.into_iter().map(|Problem { index, pointer, what }| Repair {
        index,
        pointer,
        what: format!("put U+FFFD in its place: {what}"),
    });
    (source.without_lone_surrogates(), repairs.collect())
}
