//! Head of a page that is written anew while runs go on: the progress of each, and the script that reloads the page.

use super::links::Links;
use super::{Report, escape, markup, page, put};
use crate::figure::{self, Axis, Figure, Panel, Point, Series, Stroke};
use crate::run::TrainingCurve;
use attnlab_core::error::Result;
use attnlab_core::format::{date, number, significant};
use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Script that reloads the page.
const SCRIPT: &str = include_str!("live.js");
/// Number of points of a curve up to which all are drawn. A column is 8.5 cm wide, 320 pixels of a page: more points
/// would share pixels, and make a page longer that is sent anew every few seconds.
const MAX_POINTS: usize = 400;
/// Ratio of the largest loss to the least above which their axis is logarithmic. On a linear one the least would stand
/// within 1/20 of the height from zero, which is some 7 pixels, so that the end of a training would look flat.
const LOG_FROM: f64 = 20.0;

/// Runs under way.
#[derive(Clone, Debug)]
pub struct Live<'a> {
    /// The runs.
    pub runs: &'a [RunUnderWay],
    /// Time between two reloads of the page; None for a page that nobody writes anew.
    pub every: Option<Duration>,
}

/// A run under way.
#[derive(Clone, Debug)]
pub struct RunUnderWay {
    /// Folder of the run.
    pub folder: PathBuf,
    /// Id of its experiment or claim.
    pub id: String,
    /// Number of rows.
    pub rows: u64,
    /// Number of rows of the whole run; with a stopping rule, as far as it is known.
    pub wanted: u64,
    /// Time at which rows or curves last grew.
    pub grown: SystemTime,
    /// Flag: that is long ago.
    pub stale: bool,
    /// Trainings that have no row yet.
    pub trainings: Vec<TrainingUnderWay>,
    /// Sentences about figures that need more rows.
    pub notes: Vec<String>,
}

/// A training under way.
#[derive(Clone, Debug)]
pub struct TrainingUnderWay {
    /// Parameters of its cell and number of its trial.
    pub name: String,
    /// Losses so far.
    pub curve: TrainingCurve,
}

/// Writes the report of runs under way as one self-contained HTML file, which reloads itself.
///
/// # Errors
/// When a figure cannot be drawn.
pub fn live_html(report: &Report, live: &Live) -> Result<String> {
    let mut head = String::new();
    let every = live.every.map_or(String::new(), |every| format!(" data-every=\"{}\"", every.as_secs_f64()));
    put!(head, "<section id=\"live\"{every}>");
    for run in live.runs {
        progress(&mut head, run);
        trainings(&mut head, run)?;
    }
    let words = match live.every {
        Some(every) => format!(
            "The page is written anew as rows and losses come in, and reloads itself every {} s; place, unfolded parts and \
             choices stay.",
            number(every.as_secs_f64())
        ),
        None => "This page is no longer written anew. The command below goes on with <code>--follow</code>.".into(),
    };
    put!(head, "<p class=\"about\">{words}</p></section>");
    if live.every.is_some() {
        put!(head, "<script type=\"module\">{SCRIPT}</script>");
    }
    page(&Links::new(report), &head)
}

fn progress(page: &mut String, run: &RunUnderWay) {
    let RunUnderWay { folder, id, rows, wanted, .. } = run;
    let step = match run.trainings.as_slice() {
        [] => String::new(),
        [training] => format!("step {} of {}, ", training.curve.step(), training.curve.steps),
        several => format!("{} trainings, ", several.len()),
    };
    let (id, folder, grown) = (escape(id), escape(&folder.display().to_string()), time(run.grown));
    put!(
        page,
        "<p><strong>{id}</strong> in <code>{folder}</code>, running: {step}{rows} of {wanted} rows, as of {grown}.</p>"
    );
    if run.stale {
        put!(
            page,
            "<p class=\"stale\">Nothing new since then: the run may have stopped. The command that began it goes on \
             where it was.</p>"
        );
    }
    for note in &run.notes {
        put!(page, "<p class=\"about\">{}</p>", escape(note));
    }
}

/// Writes the last losses of the trainings as a table, and all of them as a figure.
fn trainings(page: &mut String, run: &RunUnderWay) -> Result<()> {
    if run.trainings.is_empty() {
        return Ok(());
    }
    let held_out = run.trainings.iter().any(|training| !training.curve.held_out.is_empty());
    let last = if held_out { "<th>held-out loss</th>" } else { "" };
    put!(
        page,
        "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>training</th><th>step</th><th>of</th><th>loss</th>{last}\
         </tr></thead><tbody>"
    );
    for TrainingUnderWay { name, curve } in &run.trainings {
        let loss = |losses: &[Option<f64>]| {
            losses.last().copied().flatten().map_or(String::new(), |loss| significant(loss, 4))
        };
        let last = if held_out { format!("<td>{}</td>", loss(&curve.held_out)) } else { String::new() };
        let (name, step, steps, loss) = (escape(name), curve.step(), curve.steps, loss(&curve.loss));
        put!(page, "<tr><td>{name}</td><td>{step}</td><td>{steps}</td><td>{loss}</td>{last}</tr>");
    }
    put!(page, "</tbody></table></div>");
    if let Some(figure) = curves(&run.id, &run.trainings) {
        let (svg, caption) = (figure::svg_in_page(&figure)?, markup(&figure.caption));
        put!(
            page,
            "<figure class=\"lines column\"><div class=\"wide\" tabindex=\"0\">{svg}</div>\
             <figcaption>{caption}</figcaption></figure>"
        );
    }
    Ok(())
}

/// Writes a time in UTC; the script shows it in the reader's zone.
fn time(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (day, second) = (date(seconds / 86_400), seconds % 86_400);
    let clock = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    format!("<time datetime=\"{day}T{clock}Z\">{day} {clock} UTC</time>")
}

/// Describes the figure of the losses of trainings under way, of the run of this id; None if there is no loss yet.
fn curves(id: &str, trainings: &[TrainingUnderWay]) -> Option<Figure> {
    let mut panel = Panel::new("", Axis::whole("step"), Axis::linear("loss"));
    for (i, TrainingUnderWay { name, curve }) in trainings.iter().enumerate() {
        let held_out = Series::fitted(format!("{name}, held out"), i, points(&curve.done, &curve.held_out));
        panel = panel
            .with_any(Series::fitted(name, i, points(&curve.done, &curve.loss)))
            .with_any(held_out.drawn(Stroke::Dashed));
    }
    let (low, high) = figure::ends(panel.points().map(|point| point.y));
    if low > 0.0 && high > LOG_FROM * low {
        panel.y = Axis::log("loss");
    }
    if panel.series.is_empty() {
        return None;
    }
    let figure = Figure::column(format!("{id}_under_way"), format!("{id}: trainings under way"), vec![panel]);
    Some(figure.captioned(
        "Losses of the trainings that have no row yet: the mean over the steps since the point before; dashed, where there \
         is one, the loss on held-out data.",
    ))
}

/// Returns the points of a curve, of a long one some, with the last.
fn points(done: &[u64], losses: &[Option<f64>]) -> Vec<Point> {
    let finite = || done.iter().zip(losses).filter_map(|(step, loss)| Some(Point::at(*step as f64, (*loss)?)));
    let count = finite().count();
    let every = count.div_ceil(MAX_POINTS).max(1);
    finite().enumerate().filter(|(i, _)| (count - 1 - i).is_multiple_of(every)).map(|(_, point)| point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        // date -u -d @1798761599
        let written = time(UNIX_EPOCH + Duration::from_secs(1_798_761_599));
        assert_eq!(written, "<time datetime=\"2026-12-31T23:59:59Z\">2026-12-31 23:59:59 UTC</time>");
    }

    #[test]
    fn a_long_curve_keeps_its_last_point() {
        let done: Vec<u64> = (1..=1001).collect();
        let losses: Vec<Option<f64>> = done.iter().map(|step| Some(1.0 / *step as f64)).collect();
        let points = points(&done, &losses);
        assert!(points.len() <= MAX_POINTS && points.len() > MAX_POINTS / 2);
        assert_eq!(points.last().map(|p| p.x), Some(1001.0));
        assert!(points.is_sorted_by(|a, b| a.x < b.x));
        assert_eq!(super::points(&[], &[]), []);
        let curve = TrainingCurve { steps: 2000, done, loss: losses, held_out: vec![] };
        let begun = TrainingCurve::new(2000, &[0], &[f64::NAN], &[]);
        let trainings = [curve, begun].map(|curve| TrainingUnderWay { name: "trial 0".into(), curve });
        let figure = curves("toy", &trainings).unwrap();
        assert_eq!((figure.name.as_str(), figure.panels[0].series.len()), ("toy_under_way", 1));
        assert_eq!(figure.panels[0].y, Axis::log("loss"));
        assert!(curves("toy", &trainings[1..]).is_none());
    }
}
