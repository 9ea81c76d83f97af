//! Messages about text that is no TOML.

use super::*;

said!(broken_syntax, "[window]\nsize = \nmodle = \"x\"\n[trigger\ncompact-at = 0.7\n", @"
error: string values must be quoted, expected literal string
 --> brute.toml:2:8
  |
2 | size =
  |        ^

error: unclosed table, expected `]`
 --> brute.toml:4:9
  |
4 | [trigger
  |         ^
");
said!(key_given_twice, "[window]\nsize = 3000\nsize = 4000\n", @"
error: duplicate key
 --> brute.toml:3:1
  |
3 | size = 4000
  | ^^^^
");
