//! Panics stop here: none may cross the boundary.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use super::panic_message;

thread_local! {
    static WATCHES: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs the plugin's code; a panic becomes a message with its file and line.
///
/// A plugin has a standard library of its own, and so a panic hook of its own. The one set here is
/// silent while the plugin's code runs, since the host reports the panic, and leaves all other panics to
/// the hook before it.
pub(super) fn watched<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if WATCHES.get() {
                PLACE
                    .set(info.location().map(|place| format!("{}:{}", place.file(), place.line())));
            } else {
                before(info);
            }
        }));
    });
    let outer = WATCHES.replace(true);
    let ran = caught(code);
    WATCHES.set(outer);
    ran.map_err(|said| match PLACE.take() {
        Some(place) => format!("panicked at {place}: {said}"),
        None => format!("panicked: {said}"),
    })
}

/// Runs `code`; a panic becomes its message.
pub(super) fn caught<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(code)).map_err(|payload| {
        let said = panic_message(&*payload).to_owned();
        // The payload may itself panic when it is dropped, and nothing would catch that.
        std::mem::forget(payload);
        said
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_with_its_place() {
        let line = line!() + 1;
        let said = watched(|| panic!("boom {}", 1)).unwrap_err();
        assert!(said.ends_with(&format!("guard.rs:{line}: boom 1")), "{said}");
        assert_eq!(watched(|| 7), Ok(7));
        assert_eq!(caught(|| panic!("again")), Err::<(), _>("again".to_owned()));
    }

    #[test]
    fn a_panic_inside_another_guard_is_told_there() {
        let outer = watched(|| watched(|| panic!("inner")).unwrap_err());
        assert!(outer.unwrap().ends_with(": inner"));
    }

    #[test]
    fn a_payload_that_panics_when_dropped_does_no_harm() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("the payload");
            }
        }
        let said = watched(|| panic::panic_any(Bomb)).unwrap_err();
        assert!(said.ends_with(": without a message"), "{said}");
    }
}
