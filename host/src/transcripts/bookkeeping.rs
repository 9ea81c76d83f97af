//! Which fields of a log say nothing to a model.

use super::Kind;

impl Kind {
    /// The fields that are neither read as words nor counted among [what is passed over](super::Transcript::skipped), with
    /// all that is in them: ids, times, places and versions, what the agent shows to its user alone, and what another
    /// field says again. Any other text of a log is in the request or told.
    ///
    /// A name is that of a field wherever it stands in a record, `a.b` is `b` in `a`, and `/a` is `a` in the record itself.
    pub fn bookkeeping(self) -> &'static [&'static str] {
        match self {
            Self::BruteSession => &[],
            Self::ClaudeCode | Self::ClaudeStreamJson => &[
                "uuid",
                "parentUuid",
                "logicalParentUuid",
                "sessionId",
                "session_id",
                "sourceToolAssistantUUID",
                "sourceToolUseID",
                "requestId",
                "request_id",
                "timestamp",
                "cwd",
                "version",
                "gitBranch",
                "slug",
                "userType",
                // What a tool did, for the user; the model has the result.
                "toolUseResult",
                "tool_use_result",
                // What a compaction says of itself.
                "/content",
                "trigger",
                "message.id",
                "message.model",
                "message.role",
                "message.type",
                "message.usage",
                "message.stop_reason",
                "message.stop_sequence",
            ],
            Self::CodexRollout => &[
                "timestamp",
                "/id",
                "/payload.id",
                "/payload.cwd",
                "/payload.cli_version",
                "/payload.originator",
                "/payload.turn_id",
                // What was there before, which a later compaction took.
                "replacement_history",
            ],
            Self::CodexAppServer => &["id", "workspace_id", "server"],
            Self::Opencode => &[
                "id",
                "messageID",
                "sessionID",
                "parentID",
                "project_id",
                "modelID",
                "/info",
                "state.status",
                "state.title",
                // What a tool did, for the user; the model has the output.
                "state.metadata",
            ],
            Self::Pi => &[
                "timestamp",
                "/id",
                "/parentId",
                "/cwd",
                "thinkingLevel",
                "stopReason",
                "toolName",
                // Arguments as they came in; they stand beside it whole.
                "partialJson",
                // What a tool did, for the user; the model has the result.
                "details",
            ],
            Self::Openhands => &[
                "timestamp",
                "source",
                "action",
                "observation",
                // What the agent says to its user of an action.
                "/message",
                "history.message",
                // The response that the event came of has them as the model wrote them.
                "args.code",
                "args.command",
                "args.path",
                "args.thought",
                "model_response",
                "kernel_init_code",
                // Of an observation: what its action says, and what the tool did, for the user. Images are told.
                "extras",
                "history.code",
                // Of an evaluation: what it asked, and what came of it.
                "instruction",
                "issue",
                "git_patch",
                "result_explanation",
            ],
            Self::OpenhandsSdk => &[
                "timestamp",
                "id",
                "source",
                "reason",
                "summary",
                "action_id",
                "action.kind",
                "llm_response_id",
                "llm_message.role",
                "system_prompt.type",
                "tool_call.name",
                "tool_name",
            ],
            Self::GeminiCli => &[
                "timestamp",
                "lastUpdated",
                "startTime",
                "id",
                "sessionId",
                "projectHash",
                "functionResponse.name",
                "toolCalls.status",
                // How a tool and what it did are shown to the user.
                "toolCalls.displayName",
                "toolCalls.description",
                "toolCalls.resultDisplay",
            ],
            Self::Cline => &["call_id"],
            Self::InspectEval => &[
                "status",
                "eval",
                "plan",
                "results",
                "stats",
                "reductions",
                "samples.id",
                // The messages have it.
                "samples.input",
                "samples.output",
                "samples.events",
                // Those that a message names are in it.
                "samples.attachments",
                "samples.scores",
                "samples.store",
                "samples.target",
                "messages.id",
                "messages.function",
                "messages.error.type",
                "tool_calls.type",
            ],
            Self::Atif => &[
                "session_id",
                "schema_version",
                "name",
                "version",
                "timestamp",
                "started_at",
                "ended_at",
                "extra",
            ],
            // A block of the content that is a call is among the calls, too.
            Self::Langchain => &["id", "type", "status", "content.input", "content.name"],
            Self::Aider => &[],
        }
    }
}
