//! The model of a conversation, and everything that the author of a layer needs.
//!
//! Depend on this crate to write a layer; depend on `brute-host` to embed brute in an agent. A layer
//! is a [`Strategy`]: it looks at a [`Window`] and returns a [`Plan`] of edits. It never holds the
//! conversation; the host applies the plan, checks it, measures, and asks the next layer. So a bad
//! layer costs tokens saved, never the conversation.
//!
//! This crate does no input or output and knows no provider, no model and no file format. Its feature `plugins`, on by
//! default, is the boundary to dynamic libraries; a program that loads none can do without.

pub mod abi;
mod apply;
mod check_code;
mod conversation;
mod count;
mod mark;
mod message;
mod outline;
mod plan;
mod relief;
mod render;
mod strategy;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod truncation;
mod window;
mod wire;

pub use apply::{Applied, Refusal};
pub use check_code::CheckCode;
pub use conversation::{Conversation, InvalidConversation};
pub use count::{Approximate, TokenCounter};
pub use mark::{Mark, MarkKind};
pub use message::{Media, Message, MessageId, Opaque, Part, Reasoning, Role, ToolCall, ToolResult};
pub use outline::{Outline, Place, Step, Turn, Violation};
pub use plan::{Edit, Flow, Plan};
pub use relief::{Relief, check_keep_steps, old_messages};
pub use render::render_message;
pub use strategy::{
    Completion, CompletionError, CompletionUsage, Configure, Host, LayerError, LayerErrorKind,
    LogLevel, OptionsError, Prompt, Stop, Strategy, SummarizerLimits, schema_of,
};
pub use window::{MessageView, PartView, Protection, ResultView, Sizes, Window};

/// The page for authors of plugins, kept honest.
#[cfg(doctest)]
#[doc = include_str!("../../docs/write-a-plugin.md")]
struct WriteAPlugin;
