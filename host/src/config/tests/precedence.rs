//! Which of several sources wins.

use super::*;
use crate::tokens::CounterKind;

#[test]
fn defaults_then_user_then_project_then_set() {
    let size = |user_says: bool, project_says: bool, set: &[&str]| {
        let mut sources = project(if project_says { "[window]\nsize = 2000\n" } else { "" });
        sources.user = user("[window]\nsize = 1000\nmodel = \"gpt-4\"").filter(|_| user_says);
        sources.set = set.iter().map(|set| (*set).to_owned()).collect();
        good(&sources).window.size
    };
    assert_eq!(size(false, false, &[]), None);
    assert_eq!(size(true, false, &[]), Some(1000));
    assert_eq!(size(true, true, &[]), Some(2000));
    assert_eq!(size(true, true, &["window.size=3000"]), Some(3000));
    assert_eq!(size(false, false, &["window.size=3000", "window.size = 4000"]), Some(4000));
}

#[test]
fn tables_merge_and_lists_replace() {
    let sources = Sources {
        user: user(
            "[keep]\ntools = [\"a\"]\n[truncate.tools.sh]\nkeep = \"tail\"\n[[ladder]]\nlayer = \"sliding-window\"",
        ),
        ..project(
            "[keep]\ntools = [\"b\"]\n[truncate.tools.cat]\nskip = true\n[[ladder]]\nlayer = \"tool-results\"",
        )
    };
    let config = good(&sources);
    assert_eq!(config.keep.tools, ["b"]);
    assert_eq!(config.truncate.tools.len(), 2);
    let layers: Vec<_> = config.ladder.iter().map(|rung| rung.layer.as_str()).collect();
    assert_eq!(layers, ["tool-results"]);
}

#[test]
fn another_backend_starts_afresh() {
    let sources = Sources {
        user: user("[summarizer]\nbackend = \"command\"\ncommand = [\"x\"]\n"),
        ..project("[summarizer]\nbackend = \"extract\"\n")
    };
    assert!(matches!(good(&sources).summarizer, Some(SummarizerOptions::Extract(_))));
    let sources = Sources {
        user: user("[summarizer]\nbackend = \"command\"\ncommand = [\"x\"]\n"),
        ..project("[summarizer]\ntimeout = \"5s\"\n")
    };
    let Some(SummarizerOptions::Command(options)) = good(&sources).summarizer else { panic!() };
    assert_eq!((options.command, options.timeout.as_secs()), (vec!["x".to_owned()], 5));
}

#[test]
fn fallbacks_replace_those_of_the_files_below() {
    let summarizer = "[summarizer]\nbackend = \"extract\"\n";
    let two = "[[fallback]]\nbackend = \"extract\"\n[[fallback]]\nbackend = \"command\"\ncommand = [\"x\"]\n";
    let of_user = Sources { user: user(&format!("{summarizer}{two}")), ..Sources::default() };
    assert_eq!(good(&of_user).fallback.len(), 2);
    let shown = good(&of_user).resolved_toml(&layers());
    assert_eq!(good(&project(&shown)).fallback, good(&of_user).fallback, "{shown}");
    let one = Sources { set: vec!["fallback = [{ backend = \"extract\" }]".into()], ..of_user };
    assert_eq!(good(&one).fallback.len(), 1);
}

#[test]
fn a_summarizer_brings_summarize_into_the_default_ladder() {
    let names = |sources: &Sources| {
        good(sources).ladder.into_iter().map(|rung| rung.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&Sources::default()), ["tool-results", "sliding-window"]);
    let all = ["tool-results", "sliding-window", "summarize"];
    assert_eq!(names(&project("[summarizer]\nbackend = \"extract\"\n")), all);
    assert_eq!(names(&Sources { own_summarizer: true, ..Sources::default() }), all);
}

#[test]
fn rungs_of_unknown_layers_are_left_out_on_request() {
    let ladder = ["stale-reads", "tool-results", "sliding-windows", "sliding-window"]
        .map(|layer| format!("[[ladder]]\nlayer = \"{layer}\"\n"))
        .concat();
    let all = project(&ladder);
    assert!(load(&all, &layers()).config.is_none());
    let loaded = load(&Sources { known_only: true, ..all }, &layers());
    let names = loaded.config.unwrap().ladder.into_iter().map(|rung| rung.name);
    assert_eq!(names.collect::<Vec<_>>(), ["tool-results", "sliding-window"]);
    let said: Vec<String> = loaded.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "brute.toml:2:9: warning: there is no layer `stale-reads`: its rung is left out",
            "brute.toml:6:9: warning: there is no layer `sliding-windows`: its rung is left out",
        ]
    );
    // All else is as wrong as ever.
    let typo = project("[[ladder]]\nlayer = \"tool-results\"\nkeep-stepss = 1\n");
    assert!(load(&Sources { known_only: true, ..typo }, &layers()).config.is_none());
}

#[test]
fn a_stated_size_wins_over_the_table() {
    let config = good(&project(
        "[window]\nmodel = \"some-flash-model\"\nsize = 32768\nreserve = 4096\n\
         [models.some-flash-model]\nwindow = 1_000_000\nratio = 1.3\n",
    ));
    let room = config.room(None).unwrap();
    assert_eq!((room.size, config.window.reserve), (32_768, Amount::Tokens(4096)));
    assert_eq!(room.budget.window(), 32_768);
    let shown = config.resolved_toml(&layers());
    assert!(shown.contains("size = 32_768  # brute.toml:3\n"), "{shown}");
    assert!(shown.contains("reserve = 4096  # brute.toml:4\n"), "{shown}");
    // A session that names a model changes neither.
    assert_eq!(config.room(Some("gpt-4o")).unwrap().size, 32_768);
}

#[test]
fn the_room_follows_the_model() {
    let config = Config::default();
    assert_eq!(config.room(None).unwrap_err(), RoomError::NoWindow);
    assert_eq!(
        config.room(Some("gtp-4o")).unwrap_err().to_string(),
        "no window is known for the model `gtp-4o` (did you mean `gpt-4o`?); set `window.size`"
    );
    let room = config.room(Some("gpt-4")).unwrap();
    assert_eq!((room.size, room.counter), (8_192, CounterKind::Cl100k));
    let config = good(&project("[window]\nmodel = \"gpt-4o\"\ncounter = \"approximate\"\n"));
    let room = config.room(Some("gpt-4")).unwrap();
    assert_eq!((room.size, room.counter), (128_000, CounterKind::Approximate));
}

#[test]
fn conditions_become_tokens() {
    let config = good(&project(
        "[window]\nsize = 10_000\n[[ladder]]\nlayer = \"sliding-window\"\nwhen = { above = \"60%\" }\n\
         on-error = \"stop\"\ntimeout = \"2m\"\n",
    ));
    let rungs = config.rungs(10_000);
    assert_eq!(rungs[0].when.map(|when| when.above), Some(6_000));
    assert_eq!(
        (rungs[0].on_error, rungs[0].timeout),
        (OnError::Stop, Some(Duration::from_secs(120)))
    );
}

#[test]
fn the_resolved_file_says_where_each_value_comes_from() {
    let sources = Sources {
        user: user("[trigger]\ncompact-at = \"80%\"\n"),
        set: vec!["truncate.tools.\"my.tool\".skip = true".into()],
        ..project(
            "[window]\nmodel = \"gpt-4o\"\n\n[[ladder]]\nlayer = \"tool-results\"\nkeep-steps = 3\n",
        )
    };
    insta::assert_snapshot!(good(&sources).resolved_toml(&layers()), @r#"
    version = 1  # default

    [window]
    model = "gpt-4o"  # brute.toml:2
    reserve = 0.1  # default
    size = 128_000  # what is known about gpt-4o
    counter = "o200k"  # what is known about gpt-4o
    max-bytes = "50MB"  # what is known about gpt-4o

    [trigger]
    compact-at = "80%"  # ~/brute.toml:2
    compact-to = 0.4  # default

    [truncate]
    max-lines = 2000  # default
    max-bytes = "50KB"  # default
    max-line-chars = 2000  # default
    keep = "head"  # default
    strip-ansi = false  # default
    readable = []  # default
    max-age = "7d"  # default
    max-total = "1GB"  # default

    [truncate.tools."my.tool"]
    skip = true  # --set

    [archive]
    max-age = "30d"  # default
    max-total = "1GB"  # default

    [keep]
    tools = []  # default

    [plugins]
    path = []  # default

    [[ladder]]
    layer = "tool-results"  # brute.toml:5
    on-error = "next"  # default
    keep-steps = 3  # brute.toml:6
    min-tokens = 200  # default
    keep = "nothing"  # default
    max-tokens = 100  # default
    except = []  # default
    clear-at-least = 0  # default
    "#);
}

#[test]
fn a_byte_order_mark_and_carriage_returns_do_no_harm() {
    for text in ["\u{feff}[window]\nsize = 5000", "[window]\r\nsize = 5000 # comment\r\n"] {
        assert_eq!(good(&project(text)).window.size, Some(5000), "{text:?}");
    }
}

/// The folders of `[truncate]` go by the file that names them, as those of `[plugins]` do.
#[test]
fn a_relative_folder_begins_where_it_is_written() {
    let home = directories::BaseDirs::new().unwrap().home_dir().display().to_string();
    let file = |name: &str, origin, text: &str| Some(Source::new(name, text, origin));
    let table: [(&str, &str, &str, &str); 4] = [
        ("out", "/repo/out", "/own/out", "out"),
        ("./a/../b", "/repo/./a/../b", "/own/./a/../b", "./a/../b"),
        ("/abs", "/abs", "/abs", "/abs"),
        ("~/x", &format!("{home}/x"), &format!("{home}/x"), &format!("{home}/x")),
    ];
    for (written, in_project, in_own, on_the_line) in table {
        for key in ["spill", "readable"] {
            let value = match key {
                "spill" => format!("{written:?}"),
                _ => format!("[{written:?}, \"/also\"]"),
            };
            let text = format!("[truncate]\n{key} = {value}\n");
            let set =
                Sources { set: vec![format!("truncate.{key}={value}")], ..Sources::default() };
            let user = file("/own/brute.toml", Origin::User, &text);
            let found = file("/repo/brute.toml", Origin::Found, &text);
            let asked = file("/repo/brute.toml", Origin::Project, &text);
            for (sources, expected) in [
                (Sources { user: user.clone(), ..Sources::default() }, in_own),
                (Sources { project: found, user, ..Sources::default() }, in_project),
                (Sources { project: asked, ..Sources::default() }, in_project),
                (set, on_the_line),
            ] {
                let truncate = good(&sources).truncate;
                match key {
                    "spill" => assert_eq!(truncate.spill.as_deref(), Some(expected)),
                    _ => assert_eq!(truncate.readable, [expected, "/also"]),
                }
            }
        }
    }
    // None is none.
    let nowhere = file("/repo/brute.toml", Origin::Found, "[truncate]\nspill = \"\"\n");
    let sources = Sources { project: nowhere, ..Sources::default() };
    assert_eq!(good(&sources).truncate.spill.as_deref(), Some(""));
}

/// Reading a configuration asks no disk whether folders can be read.
#[test]
fn only_who_truncates_is_told_what_is_out_of_reach() {
    let loaded = load(
        &project("[truncate]\nreadable = [\"/project\"]\nspill = \"/out\"\n"),
        &Layers::built_in(),
    );
    assert!(loaded.diagnostics.is_empty());
    let warning = loaded.config.unwrap().out_of_reach().expect("a warning");
    assert_eq!((warning.key.as_str(), warning.severity), ("truncate.spill", Severity::Warning));
    assert_eq!(Config::default().out_of_reach(), None);
}
