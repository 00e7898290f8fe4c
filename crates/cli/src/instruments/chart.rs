//! A line chart as SVG: axes from zero, lines labelled where they end, no legend to look up.

use std::fmt::Write as _;

const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 660.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = 412.0;
/// Height of a line of a label.
const LINE: f64 = 16.0;

/// Colours that people who see colours differently can tell apart too.
const COLOURS: [&str; 6] = [
    "#0b62c4", "#d1660a", "#2f8f57", "#8a4bb0", "#b3365b", "#5f6b76",
];
const GREY: &str = "#8b939b";

/// A line and its label.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    /// x as a share of the axis (0 to 1), y in the unit of the axis.
    pub(crate) points: Vec<(f64, f64)>,
    /// Lowest and highest value at each point, where known.
    pub(crate) whiskers: Vec<(f64, f64)>,
    /// Beside the line's end, one string a line.
    pub(crate) label: Vec<String>,
    /// A limit: dashed, grey, the space below it tinted.
    pub(crate) limit: bool,
    /// Dots and values at the points.
    pub(crate) dots: bool,
}

/// What is drawn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) x_label: String,
    pub(crate) y_label: String,
    /// Share of the axis and text.
    pub(crate) x_ticks: Vec<(f64, String)>,
    pub(crate) lines: Vec<Line>,
    /// Below the chart.
    pub(crate) footer: Vec<String>,
}

/// The largest value, rounded up to a round step, and the step.
fn scale(highest: f64) -> (f64, f64) {
    let highest = highest.max(1e-9);
    let raw = highest * 1.06 / 5.0;
    let magnitude = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|m| m * magnitude)
        .find(|s| *s >= raw)
        .unwrap_or(10.0 * magnitude);
    ((highest * 1.06 / step).ceil() * step, step)
}

/// A number with as many digits as a reader needs.
pub(crate) fn short(v: f64) -> String {
    if v >= 100.0 {
        format!("{v:.0}")
    } else if v >= 10.0 {
        format!("{v:.1}")
    } else {
        format!("{v:.2}")
    }
}

fn escape(s: &str) -> String {
    s.chars()
        .filter(|c| !c.is_control())
        .fold(String::new(), |mut t, c| {
            match c {
                '&' => t.push_str("&amp;"),
                '<' => t.push_str("&lt;"),
                '>' => t.push_str("&gt;"),
                '"' => t.push_str("&quot;"),
                c => t.push(c),
            }
            t
        })
}

struct Svg {
    out: String,
    top: f64,
}

impl Svg {
    fn text(&mut self, x: f64, y: f64, class: &str, anchor: &str, text: &str) {
        let _ = writeln!(
            self.out,
            r#"<text x="{x:.1}" y="{y:.1}" class="{class}" text-anchor="{anchor}">{}</text>"#,
            escape(text)
        );
    }

    fn x(share: f64) -> f64 {
        LEFT + share.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - (value / self.top).clamp(0.0, 1.0) * (BOTTOM - TOP)
    }

    fn path(&self, points: &[(f64, f64)]) -> String {
        let mut d = String::new();
        for (i, (x, y)) in points.iter().enumerate() {
            let c = if i == 0 { 'M' } else { 'L' };
            let _ = write!(d, "{c}{:.1} {:.1}", Self::x(*x), self.y(*y));
        }
        d
    }

    fn line(&mut self, l: &Line, colour: &str) {
        let d = self.path(&l.points);
        if l.limit {
            if let [first, .., last] = &l.points[..] {
                let _ = writeln!(
                    self.out,
                    r#"<path d="{d}L{:.1} {BOTTOM}L{:.1} {BOTTOM}Z" fill="{GREY}" fill-opacity="0.08"/>"#,
                    Self::x(last.0),
                    Self::x(first.0)
                );
            }
            let _ = writeln!(
                self.out,
                r#"<path d="{d}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="7 5"/>"#
            );
            return;
        }
        for ((x, _), (low, high)) in l.points.iter().zip(&l.whiskers) {
            let _ = writeln!(
                self.out,
                r#"<path d="M{0:.1} {1:.1}V{2:.1}" stroke="{colour}" stroke-width="1.5" stroke-opacity="0.6"/>"#,
                Self::x(*x),
                self.y(*low),
                self.y(*high)
            );
        }
        let width = if l.dots { 2.5 } else { 1.5 };
        let _ = writeln!(
            self.out,
            r#"<path d="{d}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"/>"#
        );
        if l.dots {
            for (x, y) in &l.points {
                let _ = writeln!(
                    self.out,
                    r#"<circle cx="{:.1}" cy="{:.1}" r="4" fill="{colour}"/>"#,
                    Self::x(*x),
                    self.y(*y)
                );
                let _ = writeln!(
                    self.out,
                    r#"<text x="{:.1}" y="{:.1}" class="v" fill="{colour}" text-anchor="middle">{}</text>"#,
                    Self::x(*x).max(LEFT + 14.0),
                    self.y(*y) - 9.0,
                    short(*y)
                );
            }
        }
    }
}

/// Moves the tops of labels apart so that none covers another; keeps their order.
fn spread_out(wanted: &[(f64, f64)]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].0.total_cmp(&wanted[*b].0));
    let mut tops = vec![0.0; wanted.len()];
    let mut free = TOP - LINE;
    for i in &order {
        tops[*i] = wanted[*i].0.max(free);
        free = tops[*i] + wanted[*i].1 + 6.0;
    }
    // What now hangs over the bottom is pushed back up.
    let mut end = BOTTOM + LINE;
    for i in order.iter().rev() {
        tops[*i] = tops[*i].min(end - wanted[*i].1);
        end = tops[*i] - 6.0;
    }
    tops
}

impl Chart {
    /// The SVG text.
    pub(crate) fn svg(&self) -> String {
        let highest = self
            .lines
            .iter()
            .flat_map(|l| l.points.iter().map(|p| p.1))
            .filter(|v| v.is_finite())
            .fold(0.0, f64::max);
        let (top, step) = scale(highest);
        let mut s = Svg {
            out: String::new(),
            top,
        };
        let _ = write!(
            s.out,
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">
<title>{}</title>
<style>
text{{font-family:system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;font-size:13px;fill:#3a4148}}
.t{{font-size:20px;font-weight:600;fill:#16191c}} .s{{fill:#5f6b76}} .v{{font-size:12px}}
</style>
<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>
"##,
            escape(&self.title)
        );
        s.text(LEFT - 40.0, 34.0, "t", "start", &self.title);
        s.text(LEFT - 40.0, 55.0, "s", "start", &self.subtitle);
        s.text(LEFT - 40.0, 80.0, "", "start", &self.y_label);
        let mut v = 0.0;
        while v <= top * 1.0001 {
            let y = s.y(v);
            let _ = writeln!(
                s.out,
                r##"<path d="M{LEFT} {y:.1}H{RIGHT}" stroke="#dfe3e6" stroke-width="1"/>"##
            );
            let digits = usize::from(step < 1.0) + usize::from(step.fract() != 0.0);
            s.text(LEFT - 8.0, y + 4.0, "s", "end", &format!("{v:.digits$}"));
            v += step;
        }
        for (x, label) in &self.x_ticks {
            s.text(Svg::x(*x), BOTTOM + 20.0, "s", "middle", label);
        }
        s.text(
            f64::midpoint(LEFT, RIGHT),
            BOTTOM + 42.0,
            "",
            "middle",
            &self.x_label,
        );
        let mut next = COLOURS.iter().cycle();
        let colours: Vec<&str> = self
            .lines
            .iter()
            .map(|l| {
                if l.limit {
                    GREY
                } else {
                    next.next().copied().unwrap_or(GREY)
                }
            })
            .collect();
        for limits in [true, false] {
            for (l, c) in self.lines.iter().zip(&colours) {
                if l.limit == limits && !l.points.is_empty() {
                    s.line(l, c);
                }
            }
        }
        let wanted: Vec<(f64, f64)> = self
            .lines
            .iter()
            .map(|l| {
                let y = l.points.last().map_or(BOTTOM, |p| s.y(p.1));
                (y - LINE / 2.0, LINE * l.label.len() as f64)
            })
            .collect();
        for ((l, c), at) in self.lines.iter().zip(&colours).zip(spread_out(&wanted)) {
            for (i, text) in l.label.iter().enumerate() {
                let weight = if i == 0 { "600" } else { "400" };
                let _ = writeln!(
                    s.out,
                    r#"<text x="{:.1}" y="{:.1}" style="fill:{c};font-weight:{weight}">{}</text>"#,
                    RIGHT + 14.0,
                    at + LINE * (i as f64 + 0.75),
                    escape(text)
                );
            }
        }
        for (i, text) in self.footer.iter().enumerate() {
            s.text(
                LEFT - 40.0,
                BOTTOM + 70.0 + LINE * i as f64,
                "s",
                "start",
                text,
            );
        }
        s.out.push_str("</svg>\n");
        s.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers_above_all() {
        for (v, step) in [
            (9.0, 2.0),
            (21.0, 5.0),
            (0.4, 0.1),
            (480.0, 200.0),
            (96.0, 25.0),
        ] {
            let (top, s) = scale(v);
            assert!(top >= v && top < 1.6 * v, "{v}: {top}");
            assert!((s - step).abs() < 1e-9, "{v}: {s}");
        }
        assert!(scale(0.0).0 > 0.0);
    }

    #[test]
    fn labels_do_not_cover_each_other() {
        let tops = spread_out(&[(200.0, 32.0), (205.0, 32.0), (BOTTOM, 16.0), (100.0, 16.0)]);
        assert!(tops[1] >= tops[0] + 32.0 && tops[3] == 100.0);
        assert!(tops[2] + 16.0 <= BOTTOM + LINE);
    }

    #[test]
    fn names_cannot_break_out_of_the_text() {
        let c = Chart {
            title: "<a> & \"b\"\u{1}".into(),
            ..Chart::default()
        };
        assert!(c.svg().contains("&lt;a&gt; &amp; &quot;b&quot;</text>"));
    }
}
