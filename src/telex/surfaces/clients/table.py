"""Table of the clients: their events, write tools and the form of their answers.

The single source for hooks, installation, doctor and the pages.
"""

from telex.model.named_tuple import NamedTuple

# Moments of a session, in the words of Telex. Each client has its own names for them.
START, PROMPT, BEFORE_TOOL, AFTER_TOOL, STOP, IDLE, END = (
    "start",
    "prompt",
    "before_tool",
    "after_tool",
    "stop",
    "idle",
    "end",
)
SUBAGENT_START, SUBAGENT_STOP = "subagent_start", "subagent_stop"
WAKE = "wake"  # an event of ours: waits for mail, for clients that run a hook in the background

_CLAUDE_EVENTS = {
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "PreToolUse": BEFORE_TOOL,
    "PostToolUse": AFTER_TOOL,
    "Stop": STOP,
    "SubagentStart": SUBAGENT_START,
    "SubagentStop": SUBAGENT_STOP,
    "TeammateIdle": IDLE,
    "SessionEnd": END,
}
_CLAUDE_WRITES = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
_GEMINI_WRITES = {"write_file": "file_path", "replace": "file_path", "edit": "file_path"}


class Client(NamedTuple):
    name: str
    executable: str
    events: dict[str, str]  # moment by the client's name of the event
    writes: dict[str, str]  # parameter with the path, by write tool
    patches: dict[str, str]  # parameter with the patch, by tool that applies one
    shells: dict[str, str]  # parameter with the command line, by shell tool
    form: str  # of answers: claude, gemini or copilot
    session_variable: str = ""  # environment variable with the session id, for child processes
    pid_variable: str = ""  # environment variable with the client's process id
    sees_mid_turn: bool = True  # text of an after-tool hook reaches the model
    can_ask: bool = False  # a hook may leave the decision to the person
    wakes_itself: bool = False  # its plugin or daemon can start a turn; others need a socket or a tmux pane

    def event_of(self, moment: str) -> str | None:
        """The client's name of a moment."""
        return next((event for event, known in self.events.items() if known == moment), None)


CLIENTS: dict[str, Client] = {
    "claude": Client(
        "claude",
        "claude",
        _CLAUDE_EVENTS,
        _CLAUDE_WRITES,
        patches={"apply_patch": "command"},
        shells={"Bash": "command"},
        form="claude",
        can_ask=True,
        session_variable="CLAUDE_CODE_SESSION_ID",
        pid_variable="CLAUDE_PID",
    ),
    "codex": Client(
        "codex",
        "codex",
        _CLAUDE_EVENTS,
        _CLAUDE_WRITES,
        patches={"apply_patch": "command"},
        shells={"Bash": "command", "shell": "command"},
        form="claude",
        wakes_itself=True,
    ),
    "gemini": Client(
        "gemini",
        "gemini",
        {
            "SessionStart": START,
            "BeforeAgent": PROMPT,
            "BeforeTool": BEFORE_TOOL,
            "AfterTool": AFTER_TOOL,
            "AfterAgent": STOP,
            "SessionEnd": END,
        },
        _GEMINI_WRITES,
        patches={},
        shells={"run_shell_command": "command"},
        form="gemini",
        session_variable="GEMINI_SESSION_ID",
    ),
    "qwen": Client(
        "qwen",
        "qwen",
        _CLAUDE_EVENTS,
        _GEMINI_WRITES,
        patches={},
        shells={"run_shell_command": "command"},
        form="claude",
        can_ask=True,
        session_variable="QWEN_CODE_SESSION_ID",
    ),
    "copilot": Client(
        "copilot",
        "copilot",
        {
            "sessionStart": START,
            "userPromptSubmitted": PROMPT,
            "preToolUse": BEFORE_TOOL,
            "postToolUse": AFTER_TOOL,
            "agentStop": STOP,
            "sessionEnd": END,
        },
        {"create": "path", "edit": "path"},
        patches={},
        shells={"bash": "command"},
        form="copilot",
        can_ask=True,
    ),
    "opencode": Client(
        "opencode",
        "opencode",
        {
            "session.created": START,
            "chat.message": PROMPT,
            "tool.execute.before": BEFORE_TOOL,
            "tool.execute.after": AFTER_TOOL,
            "session.idle": STOP,
            "session.deleted": END,
        },
        {"write": "filePath", "edit": "filePath", "multiedit": "filePath"},
        patches={"patch": "patchText", "apply_patch": "patchText"},
        shells={"bash": "command"},
        form="claude",
        wakes_itself=True,
    ),
}
