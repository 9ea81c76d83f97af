//! Counts in the tokens of a provider whose vocabulary is not public: those of a near one, times a ratio.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use brute_core::TokenCounter;

/// A counter whose counts of texts are multiplied by a ratio and rounded up.
///
/// What frames a message is the same for all, and media count by rules of their own: neither is scaled.
///
/// ```
/// use brute_host::core::{Approximate, TokenCounter};
/// use brute_host::tokens::Scaled;
///
/// let counter = Scaled::new(Approximate, 1.25);
/// assert_eq!((counter.count("twelve chars"), counter.per_message()), (4, 4));
/// assert_eq!(counter.id(), "approximate × 1.25");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Scaled<C> {
    inner: C,
    ratio: f64,
    id: &'static str,
}

impl<C: TokenCounter> Scaled<C> {
    /// `inner`, times `ratio`. A ratio that is no positive number counts as 1.
    pub fn new(inner: C, ratio: f64) -> Self {
        let ratio = if ratio.is_finite() && ratio > 0.0 { ratio } else { 1.0 };
        let id = interned(format!("{} × {ratio}", inner.id()));
        Self { inner, ratio, id }
    }

    fn scale(&self, tokens: u32) -> u32 {
        // A product such as 10 × 1.1 may be a hair above the whole number it is. The cast saturates.
        (f64::from(tokens) * self.ratio - 1e-6).ceil().max(0.0) as u32
    }
}

impl<C: TokenCounter> TokenCounter for Scaled<C> {
    fn id(&self) -> &'static str {
        self.id
    }

    fn count(&self, text: &str) -> u32 {
        self.scale(self.inner.count(text))
    }

    fn per_message(&self) -> u32 {
        self.inner.per_message()
    }

    fn bounds(&self, bytes: usize) -> (u32, u32) {
        let (least, most) = self.inner.bounds(bytes);
        (self.scale(least), self.scale(most))
    }
}

/// `inner` times `ratio`: itself, if that is 1.
pub fn scaled(inner: Arc<dyn TokenCounter>, ratio: f64) -> Arc<dyn TokenCounter> {
    match ratio == 1.0 {
        true => inner,
        false => Arc::new(Scaled::new(Shared(inner), ratio)),
    }
}

/// A counter that others count by as well.
struct Shared(Arc<dyn TokenCounter>);

impl TokenCounter for Shared {
    fn id(&self) -> &'static str {
        self.0.id()
    }

    fn count(&self, text: &str) -> u32 {
        self.0.count(text)
    }

    fn per_message(&self) -> u32 {
        self.0.per_message()
    }

    fn bounds(&self, bytes: usize) -> (u32, u32) {
        self.0.bounds(bytes)
    }
}

/// The one copy of a name that lives as long as the program. There is one for each ratio in use.
fn interned(name: String) -> &'static str {
    static NAMES: LazyLock<Mutex<BTreeSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let name: &'static str = name.leak();
    names.insert(name);
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use brute_core::Approximate;
    use proptest::prelude::*;

    #[test]
    fn texts_are_scaled_and_rounded_up_and_framing_is_not() {
        for (ratio, tokens, scaled) in [
            (1.1, 10, 11),
            (1.1, 1, 2),
            (1.25, 3, 4),
            (1.6, 5, 8),
            (0.5, 3, 2),
            (10.0, u32::MAX, u32::MAX),
            (f64::NAN, 7, 7),
            (-1.0, 7, 7),
        ] {
            let counter = Scaled::new(Approximate, ratio);
            assert_eq!(counter.scale(tokens), scaled, "{tokens} × {ratio}");
            assert_eq!(counter.per_message(), Approximate.per_message());
        }
    }

    #[test]
    fn each_ratio_has_a_name_and_keeps_it() {
        let id = |ratio| scaled(Arc::new(Approximate), ratio).id();
        assert_eq!((id(1.0), id(1.25)), ("approximate", "approximate × 1.25"));
        assert!(std::ptr::eq(id(1.25), id(1.25)));
        assert_ne!(id(1.25), id(1.26));
    }

    proptest! {
        #[test]
        fn scaled_counts_stay_within_their_bounds(text in ".{0,200}", ratio in 0.1..10.0) {
            let counter = Scaled::new(Approximate, ratio);
            let (least, most) = counter.bounds(text.len());
            let count = counter.count(&text);
            prop_assert!(least <= count && count <= most, "{least} {count} {most}");
            prop_assert_eq!(counter.count(""), 0);
        }
    }
}
