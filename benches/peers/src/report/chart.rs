//! Charts of cost against size, both on logarithmic scales. Their colours are legible on light and on dark pages.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::markdown::number;
use crate::table::{Role, Row, Table};

const SIZE: (u32, u32) = (760, 420);
/// Grey with a contrast above 4 on white and on the dark page of GitHub.
const INK: RGBColor = RGBColor(0x74, 0x7d, 0x86);
const TREERING: RGBColor = RGBColor(0xe0, 0x4f, 0x2f);
const PEERS: [RGBColor; 7] = [
    RGBColor(0x2f, 0x81, 0xd8),
    RGBColor(0x2a, 0x9d, 0x63),
    RGBColor(0xb9, 0x83, 0x12),
    RGBColor(0x94, 0x6a, 0xe0),
    RGBColor(0x1b, 0x98, 0xa0),
    RGBColor(0xc8, 0x59, 0xa6),
    RGBColor(0x8a, 0x6d, 0x4f),
];

/// The points of one entrant.
struct Line {
    name: String,
    role: Role,
    points: Vec<(f64, f64)>,
}

/// Writes a chart for each work that was measured at several sizes. Returns the titles and file names.
pub fn write_all(folder: &Path, results: &Table) -> Vec<(&'static str, String)> {
    let rows = results.rows();
    let mut written = Vec::new();
    for rows in rows.chunk_by(|one, other| one.work.name == other.work.name) {
        if let [first, _, ..] = rows {
            let file = format!("{}.svg", first.work.name);
            draw(&folder.join(&file), rows).expect("a chart can be drawn and written");
            written.push((first.work.title, file));
        }
    }
    written
}

/// Returns the cost of a value, with its unit. The cost of a rate is the time for each of the things counted.
fn cost(row: &Row, value: f64) -> f64 {
    if row.work.higher_is_better {
        1e6 / value
    } else {
        value
    }
}

fn lines(rows: &[&Row]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        for cell in &row.cells {
            let point = (row.n as f64, cost(row, cell.value));
            match lines.iter_mut().find(|line| line.name == cell.name) {
                Some(line) => line.points.push(point),
                None => lines.push(Line {
                    name: cell.name.clone(),
                    role: cell.role,
                    points: vec![point],
                }),
            }
        }
    }
    lines
}

/// Returns the powers of ten around the values.
fn decades(values: impl Iterator<Item = f64> + Clone) -> std::ops::Range<f64> {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let greatest = values.fold(0.0, f64::max);
    10_f64.powf(least.log10().floor())..10_f64.powf((greatest * 1.01).log10().ceil())
}

/// Formats a number of an axis, which has few digits.
fn tick(value: f64) -> String {
    let text = number(value);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn draw(file: &Path, rows: &[&Row]) -> Result<(), Box<dyn std::error::Error>> {
    let lines = lines(rows);
    let work = rows[0].work;
    let unit = match work.unit.strip_suffix("s/s") {
        Some(thing) if work.higher_is_better => format!("us per {thing}"),
        _ => work.unit.to_owned(),
    };
    let points = || lines.iter().flat_map(|line| &line.points);
    let sizes = rows.iter().map(|row| row.n as f64);
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    let (main, side) = root.split_horizontally(SIZE.0 - 190);
    let text = |size: i32| ("sans-serif", size).into_font().color(&INK);
    let widest = sizes.clone().fold(f64::INFINITY, f64::min)..sizes.fold(0.0, f64::max);
    let heights = decades(points().map(|point| point.1));
    let mut chart = ChartBuilder::on(&main)
        .caption(format!("{}, {unit}", work.title), text(15))
        .margin(12)
        .x_label_area_size(34)
        .y_label_area_size(64)
        .build_cartesian_2d(widest.log_scale(), heights.log_scale())?;
    chart
        .configure_mesh()
        .axis_style(INK)
        .bold_line_style(INK.mix(0.35))
        .light_line_style(INK.mix(0.08))
        .label_style(text(13))
        .x_labels(6)
        .y_labels(8)
        .max_light_lines(0)
        .x_label_formatter(&|value| tick(*value))
        .y_label_formatter(&|value| tick(*value))
        .draw()?;
    let mut colours = PEERS.iter().cycle();
    let mut styles = Vec::new();
    for line in &lines {
        let style = match line.role {
            Role::Treering => TREERING.stroke_width(4),
            Role::Peer => colours.next().expect("a cycle never ends").stroke_width(2),
            Role::Limit => INK.stroke_width(2),
        };
        if line.role == Role::Limit {
            chart.draw_series(DashedLineSeries::new(line.points.iter().copied(), 6, 4, style))?;
        } else {
            chart.draw_series(LineSeries::new(line.points.iter().copied(), style))?;
        }
        chart.draw_series(
            line.points
                .iter()
                .map(|&point| Circle::new(point, 3, style.color.filled())),
        )?;
        styles.push(style);
    }
    // The legend lists the entrants from the costliest down, as their lines end.
    let mut legend: Vec<_> = lines.iter().zip(&styles).collect();
    let end = |line: &Line| line.points.last().map_or(0.0, |point| point.1);
    legend.sort_by(|(one, _), (other, _)| end(other).total_cmp(&end(one)));
    for (at, (line, style)) in legend.into_iter().enumerate() {
        let y = 60 + at as i32 * 24;
        side.draw(&PathElement::new([(0, y), (24, y)], *style))?;
        let label = text(14).pos(Pos::new(HPos::Left, VPos::Center));
        side.draw(&Text::new(line.name.clone(), (32, y), label))?;
    }
    root.present()?;
    Ok(())
}
