//! What marks the end of what is to be cached stays with its block.

use super::*;

/// A block of JSON that says in its marker which one it is.
fn marked(number: usize, block: &str) -> String {
    format!(r#"{{{block},"cache_control":{{"type":"ephemeral","n":{number}}}}}"#)
}

fn anthropic() -> String {
    let image = r#""type":"image","source":{"type":"url","url":"https://x/y.png"}"#;
    let result = |id: &str| {
        format!(r#""type":"tool_result","tool_use_id":"{id}","content":"long {}""#, "x ".repeat(99))
    };
    format!(
        r#"{{"system":[{}],"messages":[
        {{"role":"user","content":[{},{}]}},
        {{"role":"assistant","content":[{},{}]}},
        {{"role":"user","content":[{},{}]}},
        {{"role":"assistant","content":[{}]}},
        {{"role":"user","content":[{}]}}]}}"#,
        marked(0, r#""type":"text","text":"Be brief.""#),
        marked(1, r#""type":"text","text":"Look at this please.""#),
        marked(2, image),
        marked(3, r#""type":"tool_use","id":"a","name":"f","input":{"path":"somewhere/else"}"#),
        marked(4, r#""type":"tool_use","id":"b","name":"f","input":{}"#),
        marked(5, &result("a")),
        marked(6, &result("b")),
        marked(7, r#""type":"text","text":"I have seen it.""#),
        marked(8, r#""type":"text","text":"Go on.""#),
    )
}

/// The numbers of the markers in `json`, in order.
fn markers(json: &str) -> Vec<usize> {
    let after = json.split(r#""n":"#).skip(1);
    after.map(|rest| rest[..1].parse().unwrap()).collect()
}

#[test]
fn a_marker_stays_with_its_block_and_goes_with_it() {
    let json = anthropic();
    let rewrite = |message, part, text: &str| Edit::Rewrite { message, part, text: text.into() };
    let replace = |span| Edit::Replace { span, role: Role::User, text: "gone".into() };
    // Messages: instructions, request, calls, two results, reply, task.
    let table = [
        (vec![], vec![0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (vec![rewrite(1, 0, "x")], vec![0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (vec![rewrite(1, 1, "an image")], vec![0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (vec![rewrite(2, 0, "{}")], vec![0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (vec![rewrite(3, 0, "x"), rewrite(4, 0, "y")], vec![0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (vec![rewrite(5, 0, "x")], vec![0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (vec![Edit::Remove { message: 1, part: 1 }], vec![0, 1, 3, 4, 5, 6, 7, 8]),
        (vec![Edit::Drop { span: 2..5 }], vec![0, 1, 2, 7, 8]),
        // Neighbors of one role become one message; each block keeps what it had.
        (vec![Edit::Drop { span: 2..6 }], vec![0, 1, 2, 8]),
        (vec![replace(2..6)], vec![0, 1, 2, 8]),
        (vec![replace(1..6)], vec![0, 8]),
    ];
    for (edits, expected) in table {
        let written = match edits.is_empty() {
            true => json.clone(),
            false => edited(&json, edits.clone()),
        };
        assert_eq!(markers(&written), expected, "{edits:?}: {written}");
    }
}

#[test]
fn a_marker_in_openai_chat_stays_as_well() {
    let json = format!(
        r#"[{{"role":"user","content":[{},{}]}},{{"role":"assistant","content":"ok"}},{{"role":"user","content":"more"}}]"#,
        marked(1, r#""type":"text","text":"Look at this please.""#),
        marked(2, r#""type":"image_url","image_url":{"url":"https://x/y.png"}"#),
    );
    for (part, text) in [(0, "x"), (1, "an image")] {
        let written = edited(&json, vec![Edit::Rewrite { message: 0, part, text: text.into() }]);
        assert_eq!(markers(&written), [1, 2], "{written}");
    }
}
