//! Killing a process at random points of its run.

use std::process::Child;
use std::time::{Duration, Instant};

/// Kills so many of the runs that `run` begins, each at a random point. Every 20th ends by itself, the first one
/// too, and says how long a run takes. `then` gets each when it is over.
pub(crate) fn at_random(
    kills: u32,
    mut run: impl FnMut(u32) -> Child,
    mut then: impl FnMut(u32, Child),
) {
    const WHOLE_EVERY: u32 = 20;
    let (mut random, mut usual, mut killed, mut number): (u64, _, _, _) = (7, Duration::ZERO, 0, 0);
    while killed < kills {
        let begun = Instant::now();
        let mut child = run(number);
        if number % WHOLE_EVERY == 0 {
            assert!(child.wait().expect("it ends").success());
            usual = begun.elapsed();
        } else {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = usual.mul_f64((random >> 33) as f64 / f64::from(1u32 << 31) * 1.2);
            std::thread::sleep(at.saturating_sub(begun.elapsed()).min(Duration::from_secs(5)));
            let _ = child.kill();
            child.wait().expect("it ends");
            killed += 1;
        }
        then(number, child);
        number += 1;
    }
}
