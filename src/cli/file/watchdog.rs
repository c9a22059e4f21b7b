//! A pipeline that hangs: nothing comes to the muxer any more, nor to the bridge.

use std::time::Duration;

/// How long nothing may happen. Slow encoders and disks that wake up take seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Environment variable with another number of seconds, for tests and very slow machines.
const VARIABLE: &str = "AUTOLEVELS_PATIENCE";

/// Counts looks at a pipeline at which nothing had changed. Looks and not time, so that a process that was stopped
/// or a machine that slept does not count as hanging.
pub struct Watchdog {
    seen: [u64; 3],
    idle: Duration,
    patience: Duration,
}

impl Watchdog {
    pub fn new() -> Watchdog {
        let seconds = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok());
        Watchdog { seen: [0; 3], idle: Duration::ZERO, patience: seconds.map_or(PATIENCE, Duration::from_secs) }
    }

    /// A look, at most `tick` after the last. Gives for how long nothing happened, if that is too long.
    pub fn look(&mut self, now: [u64; 3], tick: Duration) -> Option<Duration> {
        if now == self.seen {
            self.idle += tick;
        } else {
            self.seen = now;
            self.idle = Duration::ZERO;
        }
        (self.idle > self.patience).then_some(self.idle)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Watchdog;

    #[test]
    fn it_bites_when_nothing_happens() {
        let mut watchdog = Watchdog { patience: Duration::from_secs(1), ..Watchdog::new() };
        let tick = Duration::from_millis(300);
        for frames in 1..20 {
            assert_eq!(watchdog.look([frames, 0, 0], tick), None);
        }
        let looks: Vec<bool> = (0..4).map(|_| watchdog.look([19, 0, 0], tick).is_some()).collect();
        assert_eq!(looks, [false, false, false, true]);
        assert_eq!(watchdog.look([19, 0, 1], tick), None);
    }
}
