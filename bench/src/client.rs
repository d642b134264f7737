//! A plain blocking client for what is not measured: INFO, FLUSHALL, SCRIPT LOAD and checks of answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// FLUSHALL of five million keys takes seconds.
const TIMEOUT: Duration = Duration::from_secs(60);
const ELEMENTS_MAX: usize = 1 << 20;
const BULK_BYTES_MAX: usize = 64 << 20;

/// A RESP2 reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Status(String),
    Error(String),
    Integer(i64),
    Bulk(String),
    Null,
    Array(Vec<Reply>),
}

impl Reply {
    /// Status or bulk text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Status(text) | Self::Bulk(text) => Some(text),
            _ => None,
        }
    }

    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(n) => Some(*n),
            _ => None,
        }
    }

    pub fn elements(&self) -> &[Reply] {
        match self {
            Self::Array(elements) => elements,
            _ => &[],
        }
    }
}

pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Result<Self> {
        Self::connect_within(address, TIMEOUT)
    }

    /// For which neither connecting nor an answer may take longer.
    pub fn connect_within(address: SocketAddr, time: Duration) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&address, time).context("connect")?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(time))?;
        stream.set_write_timeout(Some(time))?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// One request; an error reply is a value here.
    pub fn ask(&mut self, arguments: &[&str]) -> Result<Reply> {
        let mut request = format!("*{}\r\n", arguments.len());
        for argument in arguments {
            request.push_str(&format!("${}\r\n{argument}\r\n", argument.len()));
        }
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.reply()
    }

    /// One request; an error reply is an error.
    pub fn call(&mut self, arguments: &[&str]) -> Result<Reply> {
        match self.ask(arguments)? {
            Reply::Error(text) => bail!("{}: {text}", arguments[0]),
            reply => Ok(reply),
        }
    }

    /// One field of INFO.
    pub fn info(&mut self, section: &str, field: &str) -> Result<Option<String>> {
        let reply = self.call(&["INFO", section])?;
        let text = reply.text().context("INFO is no text")?;
        Ok(text
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
            .map(str::to_owned))
    }

    fn reply(&mut self) -> Result<Reply> {
        let mut line = String::new();
        if self.stream.by_ref().take(64 * 1024).read_line(&mut line)? == 0 {
            bail!("the server closed the connection");
        }
        let line = line.trim_end_matches(['\r', '\n']);
        let Some(body) = line.get(1..) else {
            bail!("malformed reply {line:?}")
        };
        match line.as_bytes()[0] {
            b'+' => Ok(Reply::Status(body.to_owned())),
            b'-' => Ok(Reply::Error(body.to_owned())),
            b':' => Ok(Reply::Integer(body.parse()?)),
            b'$' | b'*' if body == "-1" => Ok(Reply::Null),
            b'$' => {
                let bytes: usize = body.parse()?;
                if bytes > BULK_BYTES_MAX {
                    bail!("a bulk of {bytes} bytes");
                }
                let mut bulk = vec![0; bytes + 2];
                self.stream.read_exact(&mut bulk)?;
                bulk.truncate(bytes);
                Ok(Reply::Bulk(String::from_utf8_lossy(&bulk).into_owned()))
            }
            b'*' => {
                let elements: usize = body.parse()?;
                if elements > ELEMENTS_MAX {
                    bail!("an array of {elements} elements");
                }
                Ok(Reply::Array(
                    (0..elements).map(|_| self.reply()).collect::<Result<_>>()?,
                ))
            }
            _ => bail!("unknown reply type in {line:?}"),
        }
    }
}
