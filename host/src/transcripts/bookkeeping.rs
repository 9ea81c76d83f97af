//! Which fields of a log say nothing to a model.

use super::Kind;

impl Kind {
    /// The fields that are neither read nor counted among [what is passed over](super::Transcript::skipped), with all that
    /// is in them: ids, times, places and versions, what the agent shows to its user alone, and what another field says
    /// again. Any other text of a log is in the request or told.
    pub fn bookkeeping(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode | Self::ClaudeStreamJson => &[
                "uuid",
                "parentUuid",
                "logicalParentUuid",
                "sessionId",
                "session_id",
                "timestamp",
                "cwd",
                "version",
                "gitBranch",
                "slug",
                "userType",
                "requestId",
                "request_id",
                "toolUseResult",
                "tool_use_result",
                "id",
                "model",
                "stop_reason",
                "stop_sequence",
                "usage",
                "role",
                "type",
                "trigger",
            ],
            Self::CodexRollout => &["timestamp", "replacement_history"],
            Self::CodexAppServer => &["id", "workspace_id", "server"],
            Self::Opencode => &[],
            Self::Pi => &["timestamp", "stopReason", "toolName"],
            Self::Openhands => &["timestamp", "owner", "instruction", "observation"],
            Self::OpenhandsSdk => &["timestamp"],
            Self::GeminiCli => &["timestamp", "id"],
            Self::Cline => &["call_id"],
            Self::InspectEval => &["status"],
            Self::Atif => &["session_id", "version", "name", "schema_version"],
            Self::Langchain => &["id", "type", "status", "content.input", "content.name"],
            Self::Aider => &[],
        }
    }
}
