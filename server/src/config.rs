//! How a node is told what to be: `ruvio-server [file] [--name value …]`, and `RUVIO_<NAME>` in the
//! environment. Flags win over the environment, the environment over the file, the file over defaults.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use ruvio_core::options::text::{Directive, Origin, parse_environment, parse_file, parse_flags};
use ruvio_core::options::{Durability, Id, Options, Place, ROWS};

/// Files that include files, at most this deep.
const INCLUDE_DEPTH: usize = 8;

/// What the command line asks for.
pub enum Request {
    Serve(Box<Options>),
    /// Print this and end.
    Print(String),
    /// Print the log in this directory and end.
    DumpLog(PathBuf),
}

/// Reads the command line (without the program's name), the environment and the file.
pub fn read(arguments: &[String]) -> anyhow::Result<Request> {
    match arguments.first().map(String::as_str) {
        Some("--help" | "-h") => return Ok(Request::Print(help())),
        Some("--version" | "-v") => {
            return Ok(Request::Print(format!(
                "ruvio-server {}",
                env!("CARGO_PKG_VERSION")
            )));
        }
        Some("--dump-log") => {
            let directory = arguments.get(1).context("--dump-log wants a directory")?;
            return Ok(Request::DumpLog(PathBuf::from(directory)));
        }
        _ => {}
    }
    let environment: BTreeMap<String, String> = std::env::vars().collect();
    let (file, flags) = match arguments.split_first() {
        Some((first, rest)) if !first.starts_with("--") => (Some(first.as_str()), rest),
        _ => (None, arguments),
    };
    let mut options = Options::default();
    if let Some(file) = file {
        if file.starts_with('-') && file != "-" {
            bail!("there is no option '{file}': options begin with two dashes, --help lists them");
        }
        options.load(&read_file(file, 0)?)?;
        options.file = absolute(file)?;
    }
    let variables = environment
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    options.load(&parse_environment(variables))?;
    options.load(&parse_flags(flags)?)?;
    Ok(Request::Serve(Box::new(options)))
}

/// The directives of a file (`-` is the standard input), those of files that it includes in their place.
fn read_file(path: &str, depth: usize) -> anyhow::Result<Vec<Directive>> {
    if depth > INCLUDE_DEPTH {
        bail!("{path}: files include each other more than {INCLUDE_DEPTH} deep");
    }
    let mut text = Vec::new();
    if path == "-" {
        std::io::stdin().read_to_end(&mut text)?;
    } else {
        text = std::fs::read(path).with_context(|| format!("cannot read the configuration file {path}"))?;
    }
    let mut directives = Vec::new();
    for directive in parse_file(&text, path)? {
        if directive.name.eq_ignore_ascii_case("include") {
            for included in &directive.words {
                let included = String::from_utf8_lossy(included);
                directives.extend(read_file(&included, depth + 1)?);
            }
        } else {
            directives.push(directive);
        }
    }
    Ok(directives)
}

/// Says what a configuration for another server wants and is done otherwise.
pub fn warn(options: &Options) {
    if !options.wants_snapshots() {
        if options.durability() == Durability::Memory {
            tracing::warn!("durability is memory: nothing that is written is there after a restart");
        }
        return;
    }
    let points = options.shown_by(Id::Save);
    if options.durability() == Durability::Memory {
        tracing::warn!("save {points}: durability is memory, so nothing is saved");
    } else {
        tracing::warn!(
            "save {points}: no snapshot is made at these points: every write is in the log, and the image takes it in by \
             a rule of its own"
        );
    }
}

/// `CONFIG REWRITE` writes there, wherever the process stands then.
fn absolute(file: &str) -> anyhow::Result<Option<String>> {
    if file == "-" {
        return Ok(None);
    }
    let path = std::fs::canonicalize(file)?;
    Ok(Some(path.to_string_lossy().into_owned()))
}

/// An address to listen on.
pub struct Address {
    pub socket: SocketAddr,
    /// The machine may lack it (`-::1`).
    pub optional: bool,
}

/// The addresses that `bind` names, with `port`.
pub fn addresses(options: &Options, port: u16) -> anyhow::Result<Vec<Address>> {
    let mut addresses = Vec::new();
    for word in options.words(Id::Bind) {
        let word = String::from_utf8_lossy(word);
        let (name, optional) = match word.strip_prefix('-') {
            Some(name) => (name, true),
            None => (&*word, false),
        };
        let name = match name {
            "*" => "0.0.0.0",
            "::*" => "::",
            name => name,
        };
        let found = (name, port)
            .to_socket_addrs()
            .with_context(|| format!("bind: '{name}' is no address"))?;
        addresses.extend(found.map(|socket| Address { socket, optional }));
    }
    if addresses.is_empty() {
        bail!("bind names no address to listen on");
    }
    Ok(addresses)
}

fn help() -> String {
    let mut text = String::from(
        "Usage: ruvio-server [file | -] [--option value ...]\n\n\
         The file has an option a line, as redis.conf does. Every option may also be set by the environment\n\
         (RUVIO_PORT for port, RUVIO_MAXMEMORY_POLICY for maxmemory-policy). Flags win over the environment,\n\
         and the environment over the file.\n\n  --help          Show this text.\n  --version       Show the version.\n  \
         --dump-log DIR  Print the log in a data directory as text.\n\nOptions:\n",
    );
    for row in ROWS.iter().filter(|row| row.facts.place == Place::Used) {
        let default = if row.default.is_empty() {
            "none"
        } else {
            row.default
        };
        text.push_str(&format!(
            "  --{}\n      {} Default: {default}.\n",
            row.name, row.summary
        ));
    }
    text.push_str("\nAccepted without effect, for configurations written for other servers:\n");
    let mut line = String::new();
    for row in ROWS.iter().filter(|row| row.facts.place == Place::Kept) {
        if line.len() + row.name.len() > 96 {
            text.push_str(&format!("  {}\n", line.trim_end()));
            line.clear();
        }
        line.push_str(row.name);
        line.push(' ');
    }
    text.push_str(&format!("  {}", line.trim_end()));
    text
}

/// Makes the folder of the data and makes it the one where the process stands: other paths of the configuration
/// are meant from there, as in Valkey. From now on `dir` tells the whole path.
pub fn enter_folder(options: &mut Options) -> anyhow::Result<()> {
    let folder = String::from_utf8_lossy(options.text(Id::Dir)).into_owned();
    std::fs::create_dir_all(Path::new(&folder))
        .with_context(|| format!("cannot make the folder {folder}"))?;
    let whole = std::fs::canonicalize(&folder)
        .and_then(|whole| std::env::set_current_dir(&whole).map(|()| whole))
        .with_context(|| format!("cannot enter the folder {folder}"))?;
    options.load(&[Directive {
        name: "dir".into(),
        words: vec![whole.into_os_string().into_encoded_bytes()],
        origin: Origin::Flag,
    }])?;
    Ok(())
}
