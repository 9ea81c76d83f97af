//! A session whose agent keeps its conversation as the JSON of a provider.

use std::sync::Arc;

use brute_core::{Conversation, Role};

use super::{Session, SessionError, locked};
use crate::formats::{Usage, WriteOptions};
use crate::guard::meter::Meter;
use crate::ladder::{Compaction, Trigger};
use crate::session_log::LogError;

/// A request that is ready to be sent.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// Its bytes.
    pub request: Vec<u8>,
    /// The compaction that made it so, if one was due; see [`Ready::compaction`](super::Ready::compaction).
    pub compaction: Option<Compaction>,
    /// Why a compaction that was due is not in place; see [`Ready::refused`](super::Ready::refused).
    pub refused: Option<String>,
}

impl Session {
    /// Makes a request in the JSON of a provider ready to be sent: the same bytes, or those of a conversation that
    /// was compacted because it was time to. Its messages are the history to go on from, with the answer and what
    /// comes after that behind them. `usage` is what the provider counted for the request before and its answer.
    ///
    /// For agents that keep their conversation as JSON: this is [`before_call`](Self::before_call) and
    /// [`after_call`](Self::after_call) in one. A request that does not begin with what was handed out last begins
    /// anew. One at a time, as an agent's calls are.
    ///
    /// ```
    /// # use brute_host::{config::Config, guard::{Guard, Policy}};
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Guard::new(Policy::of(&Config::default(), Some("gpt-4o"))?).session("demo");
    /// let request = r#"{"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}"#;
    /// let fitted = session.fit(request, None).await?;
    /// assert_eq!(fitted.request, request.as_bytes());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new()?.block_on(example())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it is no conversation in a known format, or one that the provider would refuse. If it cannot be logged: what
    /// a compaction made of it is lost then, and the next request goes on from its own messages.
    pub async fn fit(
        &self,
        request: impl Into<Vec<u8>>,
        usage: Option<Usage>,
    ) -> Result<Fitted, SessionError> {
        let policy = self.policy_of(&locked(&self.0.state));
        let document = Arc::new(policy.read(request.into())?);
        if self.turn_to(document.conversation(), usage)? {
            self.hold_texts(None);
        }
        let tools = document.tools_text();
        let ready = self.made_ready(tools.as_deref(), Some(&document)).await;
        let (compaction, refused) = (ready.compaction, ready.refused);
        let write = |now: &Conversation| document.write(now, &WriteOptions::default()).into_owned();
        let request = self.read(write);
        if compaction.is_some() {
            // What is handed out is what the next request begins with: as it will be read, neighbors joined.
            let again = policy.read(request.clone())?;
            let state = &mut *locked(&self.0.state);
            let again = again.conversation().clone().recalling(&state.conversation).0;
            state.log(|log, now| log.turned(now, &again))?;
            state.conversation = again;
            state.meter.turn_over();
        }
        self.sync().await?;
        Ok(Fitted { request, compaction, refused })
    }

    /// Takes `conversation` for what the one that is there has become. Whether it begins anew.
    fn turn_to(&self, conversation: &Conversation, usage: Option<Usage>) -> Result<bool, LogError> {
        let state = &mut *locked(&self.0.state);
        self.turn_to_policy(state);
        let sent = state.conversation.len();
        let (conversation, same) = conversation.clone().recalling(&state.conversation);
        let reply = conversation.messages().get(sent).map(|message| message.role());
        state.log(|log, now| log.turned(now, &conversation))?;
        state.conversation = conversation;
        state.generation += 1;
        if same < sent {
            state.meter = Meter::default();
            state.is_counted = false;
            state.trigger = Trigger::default();
        } else if let Some(usage) = usage.filter(|_| reply == Some(Role::Assistant)) {
            state.meter.report(sent + 1, usage.total());
        }
        Ok(same < sent || sent == 0)
    }
}
