//! The quoting of command lines (as redis-cli's) and the `{{…}}` substitutions of transcripts.

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};

/// Splits a command line into arguments: blanks separate, `"…"` takes escapes, `'…'` takes none
/// but `\'`.
pub fn split(line: &str) -> Result<Vec<Vec<u8>>> {
    let bytes = line.as_bytes();
    let mut args = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b' ' => at += 1,
            b'"' => {
                let (arg, used) = quoted(&bytes[at..])?;
                at += used;
                ensure!(
                    matches!(bytes.get(at), None | Some(b' ')),
                    "text right after a closing quote"
                );
                args.push(arg);
            }
            b'\'' => {
                let mut arg = Vec::new();
                at += 1;
                loop {
                    match (bytes.get(at), bytes.get(at + 1)) {
                        (Some(b'\\'), Some(b'\'')) => {
                            arg.push(b'\'');
                            at += 2;
                        }
                        (Some(b'\''), _) => break,
                        (Some(byte), _) => {
                            arg.push(*byte);
                            at += 1;
                        }
                        (None, _) => bail!("unclosed single quote"),
                    }
                }
                at += 1;
                args.push(arg);
            }
            _ => {
                let end = bytes[at..]
                    .iter()
                    .position(|b| *b == b' ')
                    .map_or(bytes.len(), |n| at + n);
                args.push(bytes[at..end].to_vec());
                at = end;
            }
        }
    }
    Ok(args)
}

/// Reads a text in double quotes from the front of `input`; returns it and the bytes it took.
pub(super) fn quoted(input: &[u8]) -> Result<(Vec<u8>, usize)> {
    let mut end = 1;
    loop {
        match input.get(end) {
            None => bail!("unclosed double quote"),
            Some(b'"') => break,
            Some(b'\\') => end += 2,
            Some(_) => end += 1,
        }
    }
    Ok((unescape(&input[1..end])?, end + 1))
}

/// `\r \n \t \\ \" \xHH` and any other escaped byte as itself.
pub(super) fn unescape(text: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        let [escape, tail @ ..] = rest else {
            bail!("a lone backslash at the end")
        };
        rest = tail;
        out.push(match escape {
            b'r' => b'\r',
            b'n' => b'\n',
            b't' => b'\t',
            b'x' => {
                let digits = rest.get(..2).context("\\x needs two digits")?;
                rest = &rest[2..];
                u8::from_str_radix(std::str::from_utf8(digits)?, 16)?
            }
            other => *other,
        });
    }
    Ok(out)
}

/// Replaces `{{name}}` by what `@ save name` kept, and `{{text*N}}` by `text` N times.
pub(super) fn substitute(line: &str, saved: &HashMap<String, String>) -> Result<String> {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find("{{") {
        let end = rest[start..].find("}}").context("{{ without }}")? + start;
        let inside = &rest[start + 2..end];
        out.push_str(&rest[..start]);
        match inside.rsplit_once('*') {
            Some((text, times)) => out.push_str(&text.repeat(times.parse()?)),
            None => out.push_str(
                saved
                    .get(inside)
                    .with_context(|| format!("nothing saved as {inside}"))?,
            ),
        }
        rest = &rest[end + 2..];
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_is_redis_cli_s() {
        let args = split(r#"SET  "a b\x00\r\n" 'it\'s \n' "" x"#).expect("valid");
        assert_eq!(args, [&b"SET"[..], b"a b\0\r\n", b"it's \\n", b"", b"x"]);
        for bad in [r#""a"#, "'a", r#""a"b"#] {
            assert!(split(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn substitutions_repeat_and_recall() {
        let saved = HashMap::from([("id".to_owned(), "42".to_owned())]);
        assert_eq!(
            substitute("a {{id}} {{xy*3}}", &saved).expect("valid"),
            "a 42 xyxyxy"
        );
        assert!(substitute("{{other}}", &saved).is_err());
    }
}
