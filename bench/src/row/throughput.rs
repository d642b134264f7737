//! P1, P2 and the families: throughput and CPU a request, server-bound.

use anyhow::Result;

use crate::contest::{Contest, Pair, Settings, Shape};
use crate::redis_benchmark;
use crate::report::{Line, Report, Target, contest_lines};
use crate::workload::{KEYS, Workload, families as all_families, get, set};

const CONNECTIONS: usize = 50;

/// What a row asks of one command: throughput and CPU with the lean load, then with redis-benchmark.
struct Asked {
    workload: Workload,
    test: &'static str,
    lean: (Target, Target),
    redis_benchmark: (Option<Target>, Option<Target>),
}

pub(super) fn pipelined(settings: &Settings) -> Result<Report> {
    let asked = [
        Asked {
            workload: get(KEYS, 16),
            test: "get",
            lean: (Target::RatioAtLeast(2.0), Target::RatioAtMost(0.5)),
            redis_benchmark: (Some(Target::RatioAtLeast(1.25)), None),
        },
        Asked {
            workload: set(KEYS, 16),
            test: "set",
            lean: (Target::RatioAtLeast(2.5), Target::RatioAtMost(0.4)),
            redis_benchmark: (Some(Target::RatioAtLeast(1.6)), None),
        },
    ];
    let lines = set_and_get(settings, 16, &asked)?;
    Ok(Report {
        row: "p1",
        title: "SET and GET, 16-byte values, pipeline 16, 50 connections",
        lines,
    })
}

pub(super) fn unpipelined(settings: &Settings) -> Result<Report> {
    let asked = [(get(KEYS, 16), "get"), (set(KEYS, 16), "set")].map(|(workload, test)| Asked {
        workload,
        test,
        lean: (Target::RatioAtLeast(1.2), Target::RatioAtMost(0.88)),
        redis_benchmark: (None, Some(Target::RatioAtMost(0.88))),
    });
    let lines = set_and_get(settings, 1, &asked)?;
    Ok(Report {
        row: "p2",
        title: "SET and GET, 16-byte values, pipeline 1, 50 connections",
        lines,
    })
}

fn set_and_get(settings: &Settings, depth: usize, asked: &[Asked]) -> Result<Vec<Line>> {
    let contest = Contest::start(settings)?;
    let mut lines = Vec::new();
    for Asked {
        workload,
        test,
        lean: (rate, cpu),
        redis_benchmark: (tool_rate, tool_cpu),
    } in asked
    {
        let shape = Shape {
            connections: CONNECTIONS,
            depth,
        };
        lines.extend(lean_lines(
            &contest,
            workload,
            &workload.name,
            shape,
            (Some(*rate), Some(*cpu)),
        ));
        let what = format!("{}, redis-benchmark", workload.name);
        if !redis_benchmark::is_installed() {
            let absent = anyhow::anyhow!("redis-benchmark is not installed (package redis-tools)");
            lines.push(Line::failed(&what, &absent));
            continue;
        }
        match redis_benchmark::contest(&contest, settings, test, depth) {
            Ok(pair) => lines.extend(contest_lines(&what, pair, *tool_rate, *tool_cpu)),
            Err(error) => lines.push(Line::failed(&what, &error)),
        }
    }
    Ok(lines)
}

pub(super) fn families(settings: &Settings) -> Result<Report> {
    let contest = Contest::start(settings)?;
    let mut lines = Vec::new();
    for (workload, depth) in all_families() {
        let what = format!("{}, P={depth}", workload.name);
        let shape = Shape {
            connections: CONNECTIONS,
            depth,
        };
        let ahead = (Some(Target::RatioAtLeast(1.0)), Some(Target::RatioAtMost(1.0)));
        lines.extend(lean_lines(&contest, &workload, &what, shape, ahead));
    }
    Ok(Report {
        row: "families",
        title: "one command of every family, 50 connections",
        lines,
    })
}

pub(super) fn lean_lines(
    contest: &Contest,
    workload: &Workload,
    what: &str,
    shape: Shape,
    (rate, cpu): (Option<Target>, Option<Target>),
) -> Vec<Line> {
    match contest.lean(
        Pair {
            reference: workload,
            subject: workload,
        },
        shape,
    ) {
        Ok(pair) => contest_lines(what, pair, rate, cpu).into(),
        Err(error) => vec![Line::failed(what, &error)],
    }
}
