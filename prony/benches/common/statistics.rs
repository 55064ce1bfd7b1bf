//! Medians and tables: what is printed of alternating runs.

/// The middle value; the mean of the two middle ones for an even count.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

/// The median of the ratios of runs that stood beside each other in time.
pub(crate) fn median_ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    median(&ratios)
}

/// A Markdown table; the first row is the head.
pub(crate) fn print_table(rows: &[Vec<String>]) {
    for (index, row) in rows.iter().enumerate() {
        println!("| {} |", row.join(" | "));
        if index == 0 {
            println!("|{}|", vec!["---"; row.len()].join("|"));
        }
    }
    println!();
}
