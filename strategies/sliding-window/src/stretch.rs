//! What may be given up, in the order in which it goes: complete turns, then steps.

use std::ops::{AddAssign, Range};

use brute_core::{MarkKind, Window};

/// How much messages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Size {
    pub tokens: u64,
    /// The messages, and those that earlier notes among them stand for.
    pub messages: u64,
}

impl AddAssign for Size {
    fn add_assign(&mut self, more: Self) {
        self.tokens += more.tokens;
        self.messages = self.messages.saturating_add(more.messages);
    }
}

/// What may be given up.
///
/// A piece is a turn, or a step. Earlier notes are no piece: replacing a note by a note gains nothing. They go
/// with the piece before them, or with the first, so that one note is left of many. Other messages between
/// the steps of the task go with the step before them, or with its first.
#[derive(Debug, Default)]
pub(crate) struct Droppable {
    /// Size of each piece, oldest first. One more may follow, of what waits for a piece to go with.
    sizes: Vec<Size>,
    pieces: usize,
    /// Runs of messages, and the piece that each goes with.
    runs: Vec<(Range<usize>, usize)>,
    /// How many of the pieces are turns.
    turns: usize,
}

/// What a run of messages is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    /// It is a piece, or begins one.
    Piece,
    /// It belongs to the piece that was begun last.
    Rest,
    /// Notes of earlier compactions, and nothing else.
    Notes,
    /// What stands between steps.
    Between,
}

impl Droppable {
    /// What may be given up when the newest `keep_steps` steps stay. One walk over the messages.
    pub(crate) fn of(window: &Window<'_>, keep_steps: usize) -> Self {
        let outline = window.outline();
        let kept = outline.newest_steps(keep_steps, false);
        let complete = outline.history().iter().take_while(|turn| turn.span.end <= kept).count();
        let mut droppable = Self::default();
        for turn in &outline.turns[..complete] {
            droppable.add_turn(window, window.free_runs(turn.span.clone()));
        }
        droppable.turns = droppable.pieces;
        // The task, or the turn that is over but that the newest steps reach into.
        if let Some(turn) = outline.turns.get(complete) {
            let before = turn.span.start.min(kept)..turn.span.end.min(kept);
            for run in window.free_runs(before) {
                droppable.add_steps(window, run);
            }
        }
        droppable
    }

    /// The size of each piece, oldest first.
    pub(crate) fn pieces(&self) -> &[Size] {
        &self.sizes[..self.pieces]
    }

    /// The messages of the oldest `pieces` pieces, in as few spans as there can be, oldest first.
    pub(crate) fn spans(&self, pieces: usize) -> Vec<Range<usize>> {
        let taken = self.runs.iter().filter(|(_, piece)| *piece < pieces);
        let mut runs: Vec<_> = taken.map(|(run, _)| run.clone()).collect();
        runs.sort_unstable_by_key(|run| run.start);
        let mut spans: Vec<Range<usize>> = Vec::new();
        for run in runs {
            match spans.last_mut() {
                Some(span) if span.end == run.start => span.end = run.end,
                _ => spans.push(run),
            }
        }
        spans
    }

    fn add_turn(&mut self, window: &Window<'_>, runs: Vec<Range<usize>>) {
        let mut kind = Run::Piece;
        if runs.iter().all(|run| are_notes(window, run)) {
            kind = Run::Notes;
        }
        for run in runs {
            self.add(window, run, kind);
            if kind == Run::Piece {
                kind = Run::Rest;
            }
        }
    }

    fn add_steps(&mut self, window: &Window<'_>, run: Range<usize>) {
        let outline = window.outline();
        let mut at = run.start;
        while at < run.end {
            let (span, kind) = match outline.step_of(at) {
                Some(step) => (outline.steps[step].span.clone(), Run::Piece),
                None if are_notes(window, &(at..at + 1)) => (at..at + 1, Run::Notes),
                None => (at..at + 1, Run::Between),
            };
            at = span.end.max(at + 1);
            // What a person said stays as long as the steps that answer it.
            let is_request = kind == Run::Between
                && window.get(span.start).is_some_and(|message| message.is_real_user());
            if !is_request {
                self.add(window, span, kind);
            }
        }
    }

    fn add(&mut self, window: &Window<'_>, run: Range<usize>, kind: Run) {
        let piece = match kind {
            Run::Piece => {
                self.pieces += 1;
                self.pieces - 1
            }
            Run::Between if self.pieces == self.turns => self.pieces,
            Run::Rest | Run::Between | Run::Notes => self.pieces.saturating_sub(1),
        };
        if self.sizes.len() <= piece {
            self.sizes.resize(piece + 1, Size::default());
        }
        for message in window.messages(run.clone()) {
            let messages = match message.mark() {
                Some(mark) if mark.kind == MarkKind::Note => mark.count,
                _ => 1,
            };
            self.sizes[piece] += Size { tokens: u64::from(message.tokens()), messages };
        }
        self.runs.push((run, piece));
    }
}

fn are_notes(window: &Window<'_>, run: &Range<usize>) -> bool {
    let is_note = |mark: brute_core::Mark| mark.kind == MarkKind::Note;
    window.messages(run.clone()).all(|message| message.mark().is_some_and(is_note))
}
