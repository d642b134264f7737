//! Clients that others wrote, unmodified, against our server. `RUVIO_SUITES_AGAINST=valkey` runs
//! them against Valkey. The suites that need a checkout are in `make compat`.

use std::path::PathBuf;
use std::process::{Command, Output};

use ruvio_e2e::server::{Kind, Server, repository};

fn server() -> Server {
    Server::start(Kind::under_test("RUVIO_SUITES_AGAINST"), &[]).expect("the server starts")
}

fn python() -> PathBuf {
    match std::env::var_os("RUVIO_PYTHON") {
        Some(path) => PathBuf::from(path),
        None => repository().join(".cache/venv/bin/python"),
    }
}

fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Runs a script of `e2e/suites` with the server's port; its own closing line is printed.
fn run_script(name: &str, more: &[&str]) {
    let mut server = server();
    let script = repository().join("e2e/suites").join(name);
    let output = Command::new(python())
        .arg(&script)
        .arg(server.addr().port().to_string())
        .args(more)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap_or_else(|e| panic!("{}: {e} (make setup)", python().display()));
    let told = told(&output);
    println!("{told}");
    assert!(
        output.status.success(),
        "{name} ended with {}:\n{told}",
        output.status
    );
    assert!(
        told.contains(" passed, 0 failed"),
        "{name} has no closing line:\n{told}"
    );
    assert!(server.is_running(), "{name} ended the server");
}

#[test]
fn redis_py_works() {
    run_script("redis_py_smoke.py", &[]);
}

#[test]
fn rq_works_its_jobs_off() {
    run_script("rq_jobs.py", &[]);
}

#[test]
fn celery_works_its_jobs_off() {
    run_script("celery_jobs.py", &[]);
}

#[test]
fn queue_patterns_do_every_job_once() {
    run_script("queue_patterns.py", &[]);
}

#[test]
fn redis_cli_talks_and_pipes() {
    let server = server();
    let port = server.addr().port().to_string();
    let cli = |args: &[&str]| {
        let output = Command::new("redis-cli").args(["-p", &port]).args(args).output();
        told(&output.expect("redis-cli runs (make setup)"))
    };
    assert_eq!(cli(&["SET", "k", "v"]), "OK\n");
    assert_eq!(cli(&["-3", "HSET", "h", "f", "1"]), "1\n");
    assert_eq!(cli(&["-3", "--json", "HGETALL", "h"]), "{\"f\":\"1\"}\n");
    assert_eq!(cli(&["--scan", "--pattern", "k*"]), "k\n");
    assert!(cli(&["LPUSH", "k", "v"]).starts_with("WRONGTYPE "));
    assert!(cli(&["INFO", "server"]).contains("redis_version:7."));
    assert!(cli(&["--bigkeys"]).contains("Biggest string found"));
    assert!(cli(&["--memkeys"]).contains("Biggest string found"));
}

#[test]
fn redis_benchmark_ends_without_an_error() {
    let server = server();
    let port = server.addr().port().to_string();
    let tests = "ping_inline,ping_mbulk,set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,lrange_100,mset";
    for protocol in ["-2", "-3"] {
        let mut command = Command::new("redis-benchmark");
        command.args([
            "-p", &port, "-n", "2000", "-c", "20", "-P", "8", "-r", "100", "--csv", "-t", tests,
        ]);
        if protocol == "-3" {
            command.arg("-3");
        }
        let output = command.output().expect("redis-benchmark runs (make setup)");
        let told = told(&output);
        assert!(output.status.success(), "{told}");
        assert!(!told.to_lowercase().contains("error"), "{told}");
        // A header, and a row for each test; LRANGE brings the LPUSH that fills its list.
        let rows = told.lines().filter(|l| l.starts_with('"')).count();
        assert!(rows > tests.split(',').count(), "{rows} rows:\n{told}");
    }
}
