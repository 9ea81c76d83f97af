//! A host to plan against, without a ladder around it.

use std::sync::{Arc, Mutex};

use crate::{
    Applied, Approximate, Completion, CompletionError, Conversation, Host, LayerError, LogLevel,
    Plan, Prompt, Protection, Refusal, Sizes, Stop, Strategy, SummarizerLimits, TokenCounter,
    Window,
};

type Answer = dyn Fn(&Prompt) -> Result<Completion, CompletionError> + Send + Sync;

/// A host that counts by [`Approximate`], answers prompts as the test says, and keeps what it was asked.
#[derive(Default)]
pub struct TestHost {
    answer: Option<Box<Answer>>,
    window: u64,
    prompts: Mutex<Vec<Prompt>>,
    keep: Vec<String>,
    archives: bool,
    focus: Option<String>,
}

impl TestHost {
    /// A host without a summarizer.
    pub fn new() -> Self {
        Self::default()
    }

    /// A host whose summarizer answers by `answer` and takes requests of up to `window` tokens.
    pub fn answering(
        window: u64,
        answer: impl Fn(&Prompt) -> Result<Completion, CompletionError> + Send + Sync + 'static,
    ) -> Self {
        Self { answer: Some(Box::new(answer)), window, ..Self::default() }
    }

    /// A host whose summarizer always says `text`.
    pub fn saying(text: &str) -> Self {
        let text = text.to_owned();
        Self::answering(100_000, move |_| Ok(Completion::new(text.as_str(), Stop::End)))
    }

    /// The same host, where no layer may touch the calls and results of `tools`.
    pub fn keeping(mut self, tools: &[&str]) -> Self {
        self.keep = tools.iter().map(|tool| (*tool).to_owned()).collect();
        self
    }

    /// The same host with an archive: message 3 can be had back by `restore 3`.
    pub fn archiving(self) -> Self {
        Self { archives: true, ..self }
    }

    /// The same host in a run that is about something.
    pub fn focusing(self, focus: &str) -> Self {
        Self { focus: Some(focus.to_owned()), ..self }
    }

    /// Everything that the summarizer was asked so far.
    pub fn prompts(&self) -> Vec<Prompt> {
        self.prompts.lock().map(|prompts| prompts.clone()).unwrap_or_default()
    }

    /// What `strategy` wants done to `conversation` so that it has at most `target` tokens.
    ///
    /// # Errors
    /// The strategy's own.
    pub fn plan(
        &self,
        strategy: &dyn Strategy,
        conversation: &Conversation,
        target: u64,
    ) -> Result<Plan, LayerError> {
        let mut conversation = conversation.clone();
        let used = conversation.measure(&Approximate);
        let outline = conversation.outline();
        let protection = self.protection(&conversation);
        let sizes = Sizes { window: 2 * used.max(target), used, target };
        let messages = conversation.messages();
        strategy.plan(&Window::new(messages, &outline, &protection, &Approximate, sizes), self)
    }

    /// What no layer may touch in `conversation`.
    pub fn protection(&self, conversation: &Conversation) -> Protection {
        Protection::of(conversation.messages(), &conversation.outline(), &self.keep)
    }

    /// What becomes of `conversation` by `plan`. It is measured before, as in a ladder, so that its size
    /// is handed on.
    ///
    /// # Errors
    /// If the plan is refused.
    pub fn apply(&self, conversation: &Conversation, plan: &Plan) -> Result<Applied, Refusal> {
        let mut conversation = conversation.clone();
        conversation.measure(&Approximate);
        let outline = Arc::new(conversation.outline());
        let protection = self.protection(&conversation);
        conversation.apply(plan.clone(), &outline, &protection, &Approximate)
    }
}

impl Host for TestHost {
    fn count(&self, text: &str) -> u32 {
        Approximate.count(text)
    }

    fn summarizer(&self) -> Option<SummarizerLimits> {
        self.answer.as_ref().map(|_| SummarizerLimits { window: self.window })
    }

    fn complete(&self, prompt: &Prompt) -> Result<Completion, CompletionError> {
        if let Ok(mut prompts) = self.prompts.lock() {
            prompts.push(prompt.clone());
        }
        self.answer.as_ref().map_or(Err(CompletionError::NotConfigured), |answer| answer(prompt))
    }

    fn retrieval(&self, message: usize) -> Option<String> {
        self.archives.then(|| format!("`restore {message}`"))
    }

    fn focus(&self) -> Option<&str> {
        self.focus.as_deref()
    }

    fn log(&self, _level: LogLevel, _message: &str) {}
}
