"""From what was said and done to the request bodies of two providers."""
import json

TOOLS = {  # name here: (name in OpenAI Chat, name in Anthropic, what it does, arguments, those that must be there)
    "shell": ("shell", "bash", "Run a command with bash in the project folder. Output is stdout and stderr together.",
              {"command": ("string", "the command"), "timeout_ms": ("integer", "stop after so many milliseconds")}, ["command"]),
    "read": ("read_file", "read", "Read a text file; lines are numbered as `cat -n` numbers them.",
             {"path": ("string", "path inside the project"), "offset": ("integer", "first line, from 1"),
              "limit": ("integer", "how many lines at most")}, ["path"]),
    "search": ("search", "grep", "Search files below a path for an extended regular expression, as `grep -rnE` does.",
               {"pattern": ("string", "the expression"), "path": ("string", "file or folder")}, ["pattern"]),
    "edit": ("edit_file", "edit", "Replace one text in a file by another. `old` must occur exactly once.",
             {"path": ("string", "path inside the project"), "old": ("string", "the text that is there"),
              "new": ("string", "the text that comes in its place")}, ["path", "old", "new"]),
    "write": ("write_file", "write", "Write a file, whole.",
              {"path": ("string", "path inside the project"), "content": ("string", "all of its text")}, ["path", "content"]),
    "view": ("view_image", "view_image", "Look at an image file.", {"path": ("string", "path inside the project")}, ["path"]),
    "todo": ("todo_write", "todo_write", "Replace the list of things to do.", {"items": ("array", "text and status of each")}, ["items"]),
}

SYSTEM = """You are a coding agent in a terminal. You work in /home/user/lantern, a text-adventure engine in Python.

Rules:
- Read a file before you edit it. After an edit, run the tests that cover it.
- Prefer small edits over rewrites. Do not reformat what you do not change.
- Independent calls go into one reply, so that they run side by side.
- Never delete or weaken a test to make it pass; say so if you think that a test is wrong.
- When you are done, say what changed, in which files, and which command proves it.

Environment:
- platform linux, shell bash, python3 with the standard library only, no network, no git
- the state before the first edit is kept in /home/user/lantern.orig for comparison (`diff -ru`)
"""


def schema(arguments, required):
    properties = {}
    for name, (kind, words) in arguments.items():
        properties[name] = {"type": kind, "description": words}
        if kind == "array":
            properties[name]["items"] = {
                "type": "object", "required": ["text", "status"],
                "properties": {"text": {"type": "string"}, "status": {"enum": ["pending", "in_progress", "done"]}}}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def openai_tools():
    return [{"type": "function", "function": {"name": name, "description": words, "parameters": schema(arguments, required)}}
            for name, _, words, arguments, required in TOOLS.values()]


def anthropic_tools():
    return [{"name": name, "description": words, "input_schema": schema(arguments, required)}
            for _, name, words, arguments, required in TOOLS.values()]


def openai_messages(session, system=SYSTEM):
    """OpenAI Chat: results are messages of their own, and an image can only come from the user."""
    messages = [{"role": "system", "content": system}]
    for entry in session.entries:
        if entry["role"] == "user":
            content = entry["text"]
            if entry["image"]:
                content = [{"type": "text", "text": entry["text"]},
                           {"type": "image_url", "image_url": {"url": "data:image/png;base64," + entry["image"], "detail": "low"}}]
            messages.append(dict({"role": "user", "content": content}, **entry["extra"]))
            continue
        message = {"role": "assistant", "content": entry["text"]}
        if entry["think"]:
            message["reasoning_content"] = entry["think"]
        if entry["calls"]:
            message["tool_calls"] = [
                {"id": "call_" + call_id, "type": "function",
                 "function": {"name": TOOLS[name][0], "arguments": json.dumps(args, ensure_ascii=False)}}
                for call_id, name, args, _ in entry["calls"]]
        messages.append(message)
        for call_id, _, _, output in entry["calls"]:
            messages.append({"role": "tool", "tool_call_id": "call_" + call_id, "content": output.text})
    return messages


def anthropic_messages(session, cached=()):
    """Anthropic Messages: results and what the user says next share one message. `cached`: messages that end with a cache marker."""
    messages = []
    for entry in session.entries:
        if entry["role"] == "user":
            blocks = []
            if entry["image"]:
                blocks.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": entry["image"]}})
            blocks.append(dict({"type": "text", "text": entry["text"]}, **entry["extra"]))
            if messages and messages[-1]["role"] == "user":
                messages[-1]["content"].extend(blocks)
            elif len(blocks) == 1 and not entry["extra"]:
                messages.append({"role": "user", "content": entry["text"]})
            else:
                messages.append({"role": "user", "content": blocks})
            continue
        blocks = []
        if entry["think"]:
            blocks.append({"type": "thinking", "thinking": entry["think"], "signature": entry["signature"]})
        if entry["redacted"]:
            blocks.append({"type": "redacted_thinking", "data": entry["redacted"]})
        if entry["text"]:
            blocks.append({"type": "text", "text": entry["text"]})
        for call_id, name, args, _ in entry["calls"]:
            blocks.append({"type": "tool_use", "id": "toolu_" + call_id, "name": TOOLS[name][1], "input": args})
        messages.append({"role": "assistant", "content": blocks})
        results = []
        for call_id, _, _, output in entry["calls"]:
            result = {"type": "tool_result", "tool_use_id": "toolu_" + call_id, "content": output.text}
            if output.image:
                result["content"] = [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": output.image}},
                    {"type": "text", "text": output.text}]
            if output.failed:
                result["is_error"] = True
            results.append(result)
        if results:
            messages.append({"role": "user", "content": results})
    for index in cached:
        message = messages[index]
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        message["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return messages
