//! `LATENCY`: what took long and when, and how long commands take.

use super::{ADMIN_NOSCRIPT, ANY_TIME, server};
use crate::command::spec::{Command, Join, Route};
use crate::command::{Args, COMMANDS, Entry, help as help_text};
use crate::engine::observe::Event;
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::text::escape::cut;

const PER_SAMPLE: &str = "O(1), there are 160 samples at most";

pub const LATENCY: Command = server("latency", -2, help)
    .docs("2.8.13", "", "Holds the commands about how long things take.")
    .complexity("Depends on the sub-command")
    .subcommands(&[
        server("doctor", 2, doctor)
            .flags(ADMIN_NOSCRIPT)
            .route(Route::First)
            .docs("2.8.13", "", "Says in words what took long.")
            .complexity(PER_SAMPLE),
        server("graph", 3, graph)
            .flags(ADMIN_NOSCRIPT)
            .route(Route::First)
            .docs("2.8.13", "event", "Draws the samples of an event.")
            .complexity(PER_SAMPLE),
        server("help", 2, help)
            .flags(ANY_TIME)
            .docs("2.8.13", "", "Shows this text."),
        server("histogram", -2, histogram)
            .flags(ADMIN_NOSCRIPT)
            .route(Route::Everywhere(Join::Own))
            .docs(
                "7.0.0",
                "[command [command ...]]",
                "Shows how long commands took, in steps that double.",
            )
            .complexity("O(N) in the number of commands"),
        server("history", 3, history)
            .flags(ADMIN_NOSCRIPT)
            .route(Route::First)
            .docs("2.8.13", "event", "Shows the samples of an event.")
            .complexity(PER_SAMPLE),
        server("latest", 2, latest)
            .flags(ADMIN_NOSCRIPT)
            .route(Route::First)
            .docs("2.8.13", "", "Shows the last sample of every event.")
            .complexity(PER_SAMPLE),
        server("reset", -2, reset)
            .flags(ADMIN_NOSCRIPT)
            .route(Route::First)
            .docs("2.8.13", "[event [event ...]]", "Forgets some events, or all.")
            .complexity(PER_SAMPLE),
    ]);

fn help(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    help_text::write(x.reply, &LATENCY);
    Ok(())
}

fn latest(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let events = x.world.observer.latency.iter();
    x.reply.array(events.len());
    for (name, event) in events {
        let (at, took) = event.samples.back().copied().unwrap_or_default();
        x.reply.array(6);
        x.reply.bulk_str(name);
        for number in [at, took, event.max_ms, event.sum_ms, event.count] {
            x.reply.integer(number as i64);
        }
    }
    Ok(())
}

fn history(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let Some(event) = x.world.observer.latency.get(args.get(2)) else {
        x.reply.array(0);
        return Ok(());
    };
    x.reply.array(event.samples.len());
    for (at, took) in &event.samples {
        x.reply.array(2);
        x.reply.integer(*at as i64);
        x.reply.integer(*took as i64);
    }
    Ok(())
}

fn reset(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let latency = &mut x.world.observer.latency;
    let forgotten: usize = if args.len() == 2 {
        latency.reset(None)
    } else {
        args.iter_from(2).map(|name| latency.reset(Some(name))).sum()
    };
    x.reply.integer(forgotten as i64);
    Ok(())
}

fn histogram(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let mut asked: Vec<&Entry> = Vec::new();
    if args.len() == 2 {
        asked.extend(COMMANDS.iter());
    }
    for name in args.iter_from(2) {
        if let Some(entry) = COMMANDS.find_full(name) {
            asked.push(entry);
            asked.extend(entry.subcommands.clone().map(|id| COMMANDS.get(id)));
        }
    }
    let histograms = &x.world.observer.histograms;
    let used = asked.iter().filter_map(|entry| {
        let histogram = histograms.get(entry.id as usize)?;
        (histogram.total() > 0).then_some((*entry, histogram))
    });
    x.reply.map(used.clone().count());
    for (entry, histogram) in used {
        x.reply.bulk_str(&entry.full_name);
        x.reply.map(2);
        x.reply.bulk(b"calls");
        x.reply.integer(histogram.total() as i64);
        x.reply.bulk(b"histogram_usec");
        let bounds = histogram.bounds();
        x.reply.map(bounds.len());
        for (us, calls) in bounds {
            x.reply.integer(us as i64);
            x.reply.integer(calls as i64);
        }
    }
    Ok(())
}

/// Columns of a graph, the youngest sample to the right.
const COLUMNS: usize = 80;
const ROWS: u64 = 4;
const MARKS: [char; 3] = ['_', 'o', '#'];

fn graph(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let name = args.get(2);
    let Some(event) = x.world.observer.latency.get(name) else {
        let name = String::from_utf8_lossy(cut(name));
        return Err(Error::from(format!("ERR No samples available for event '{name}'")).into());
    };
    let text = draw(&String::from_utf8_lossy(name), event, x.now.ms() / 1000);
    x.reply.verbatim(b"txt", text.as_bytes());
    Ok(())
}

fn draw(name: &str, event: &Event, now_seconds: u64) -> String {
    let skipped = event.samples.len().saturating_sub(COLUMNS);
    let shown: Vec<(u64, u64)> = event.samples.iter().skip(skipped).copied().collect();
    let high = shown.iter().map(|sample| sample.1).max().unwrap_or(0);
    let low = shown.iter().map(|sample| sample.1).min().unwrap_or(0);
    let mut text = format!(
        "{name} - high {high} ms, low {low} ms (all time high {} ms)\n{}\n",
        event.max_ms,
        "-".repeat(COLUMNS)
    );
    // Each row has as many steps as there are marks.
    let steps = ROWS * MARKS.len() as u64;
    let height = |took: u64| (took - low) * (steps - 1) / (high - low).max(1);
    for row in (0..ROWS).rev() {
        for (_, took) in &shown {
            let height = height(*took);
            let above = height / MARKS.len() as u64;
            text.push(match above.cmp(&row) {
                std::cmp::Ordering::Equal => MARKS[(height % MARKS.len() as u64) as usize],
                std::cmp::Ordering::Greater => '|',
                std::cmp::Ordering::Less => ' ',
            });
        }
        text.push('\n');
    }
    // How long ago, from top to bottom under each column.
    let ages: Vec<String> = shown
        .iter()
        .map(|(at, _)| age(now_seconds.saturating_sub(*at)))
        .collect();
    let longest = ages.iter().map(String::len).max().unwrap_or(0);
    text.push('\n');
    for line in 0..longest {
        text.extend(ages.iter().map(|age| age.chars().nth(line).unwrap_or(' ')));
        text.push('\n');
    }
    text
}

fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

fn doctor(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let latency = &x.world.observer.latency;
    let mut text = String::new();
    if latency.threshold_ms.is_none() {
        text.push_str(
            "Nothing is being watched: latency-monitor-threshold is 0. Set it to the number of milliseconds that \
             is too long for you, for example CONFIG SET latency-monitor-threshold 100.\n",
        );
    } else if latency.iter().len() == 0 {
        text.push_str("Nothing took longer than the threshold so far.\n");
    }
    for (name, event) in latency.iter() {
        let average = event.sum_ms / event.count.max(1);
        text.push_str(&format!(
            "{name}: {} times over the threshold, {average} ms on average, {} ms at the worst. {}\n",
            event.count,
            event.max_ms,
            advice(name)
        ));
    }
    x.reply.verbatim(b"txt", text.as_bytes());
    Ok(())
}

fn advice(name: &str) -> &'static str {
    match name {
        "command" => {
            "SLOWLOG GET tells which commands those were; large collections read whole are the usual reason."
        }
        "fast-command" => {
            "Commands of constant cost do not take long by themselves: look for a busy or paused machine."
        }
        _ => "Look at what the machine did at these moments.",
    }
}
