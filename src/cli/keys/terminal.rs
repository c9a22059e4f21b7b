//! The terminal while something plays: keys come one by one, and it is always put back as it was.

use std::io::{self, IsTerminal, Write};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use super::Action;

/// Whether the terminal gives keys one by one at present.
static RAW: AtomicBool = AtomicBool::new(false);

/// Reads keys from the terminal for as long as it lives.
pub struct Terminal(());

impl Terminal {
    /// Takes the terminal, if stdin is one.
    pub fn open() -> Option<Terminal> {
        if !io::stdin().is_terminal() || enable_raw_mode().is_err() {
            return None;
        }
        RAW.store(true, Ordering::SeqCst);
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let report = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                restore();
                report(info);
            }));
        });
        Some(Terminal(()))
    }

    /// What the next key that was pressed does, if any was.
    pub fn action(&self) -> Option<Action> {
        while event::poll(Duration::ZERO).unwrap_or(false) {
            let Ok(Event::Key(key)) = event::read() else { continue };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
            let action = match key.code {
                KeyCode::Char('c') if ctrl => Some(Action::Interrupt),
                KeyCode::Char(' ') => super::action("space"),
                KeyCode::Char('+') => super::action("plus"),
                KeyCode::Char('-') => super::action("minus"),
                KeyCode::Char(letter) if !ctrl => super::action(letter.encode_utf8(&mut [0; 4])),
                KeyCode::Up => super::action("Up"),
                KeyCode::Down => super::action("Down"),
                KeyCode::Esc => super::action("Escape"),
                KeyCode::F(number) => super::action(&format!("F{number}")),
                _ => None,
            };
            if action.is_some() {
                return action;
            }
        }
        None
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Puts the terminal back as it was. May be called at any time.
pub fn restore() {
    if RAW.swap(false, Ordering::SeqCst) {
        let _ = disable_raw_mode();
        let _ = io::stderr().flush();
    }
}

/// Writes text to stderr, with the line ends that the terminal wants at present.
pub fn say(text: &str) {
    let text = if RAW.load(Ordering::SeqCst) { text.replace('\n', "\r\n") } else { text.to_owned() };
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}
