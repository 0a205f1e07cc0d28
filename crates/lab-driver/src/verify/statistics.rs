//! Whether two samples can come from one distribution: Pearson's chi-square test of homogeneity.

/// Bins that hold fewer of both samples together are joined with their neighbour: the test's approximation needs about this many.
const BIN_LEAST: u64 = 10;

/// The probability that counts at least this unlike come from one distribution; 1 if there is nothing to compare.
pub fn homogeneity(ours: &[u64], theirs: &[u64]) -> f64 {
    let (mut a, mut b) = (vec![0], vec![0]);
    for (our, their) in ours.iter().zip(theirs) {
        let last = a.len() - 1;
        a[last] += our;
        b[last] += their;
        if a[last] + b[last] >= BIN_LEAST {
            a.push(0);
            b.push(0);
        }
    }
    // What is left over at the end goes to the bin before it.
    if a.len() > 1
        && let (Some(x), Some(y)) = (a.pop(), b.pop())
    {
        let last = a.len() - 1;
        a[last] += x;
        b[last] += y;
    }
    let (sum_a, sum_b) = (a.iter().sum::<u64>() as f64, b.iter().sum::<u64>() as f64);
    if a.len() < 2 || sum_a == 0.0 || sum_b == 0.0 {
        return 1.0;
    }
    let mut chi_square = 0.0;
    for (x, y) in a.iter().zip(&b) {
        let both = (x + y) as f64;
        let (expected_x, expected_y) = (both * sum_a / (sum_a + sum_b), both * sum_b / (sum_a + sum_b));
        chi_square += (*x as f64 - expected_x).powi(2) / expected_x + (*y as f64 - expected_y).powi(2) / expected_y;
    }
    chi_square_above(chi_square, (a.len() - 1) as f64)
}

/// The upper tail of the chi-square distribution: the regularized upper incomplete gamma function Q(df/2, x/2).
fn chi_square_above(x: f64, degrees: f64) -> f64 {
    let (a, x) = (degrees / 2.0, x / 2.0);
    if x <= 0.0 {
        return 1.0;
    }
    let scale = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        // P by its series.
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        for _ in 0..10_000 {
            n += 1.0;
            term *= x / n;
            sum += term;
            if term < sum * 1e-14 {
                break;
            }
        }
        (1.0 - sum * scale).clamp(0.0, 1.0)
    } else {
        // Q by its continued fraction (Lentz).
        let tiny = 1e-300;
        let mut b = x + 1.0 - a;
        let (mut c, mut d) = (1.0 / tiny, 1.0 / b);
        let mut fraction = d;
        for i in 1..10_000 {
            let i = f64::from(i);
            let factor = -i * (i - a);
            b += 2.0;
            d = 1.0 / nonzero(factor * d + b, tiny);
            c = nonzero(b + factor / c, tiny);
            fraction *= d * c;
            if (d * c - 1.0).abs() < 1e-14 {
                break;
            }
        }
        (fraction * scale).clamp(0.0, 1.0)
    }
}

fn nonzero(value: f64, tiny: f64) -> f64 {
    if value.abs() < tiny { tiny } else { value }
}

/// ln Γ(x) for x > 0, by Stirling's series after moving x above 10.
fn ln_gamma(x: f64) -> f64 {
    let mut shift = 0.0;
    let mut x = x;
    while x < 10.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
    shift + (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Random;

    #[test]
    fn the_tail_is_that_of_the_tables() {
        // Published critical values.
        for (x, degrees, tail) in [
            (3.841, 1.0, 0.05),
            (18.307, 10.0, 0.05),
            (29.588, 10.0, 0.001),
            (124.342, 100.0, 0.05),
        ] {
            assert!((chi_square_above(x, degrees) - tail).abs() < 1e-4, "{x} {degrees}");
        }
    }

    #[test]
    fn like_is_like_and_unlike_is_not() {
        let mut random = Random::new(5, 5);
        let mut sample = |shift: u64| {
            let mut bins = vec![0; 20];
            for _ in 0..5000 {
                let drawn = random.below(20);
                bins[if random.below(20) < shift { 0 } else { drawn as usize }] += 1;
            }
            bins
        };
        let (a, b, c) = (sample(0), sample(0), sample(1));
        assert!(homogeneity(&a, &b) > 0.001);
        assert!(homogeneity(&a, &c) < 1e-6);
    }

    #[test]
    fn nothing_to_compare_is_no_difference() {
        assert_eq!(homogeneity(&[0, 0], &[0, 0]), 1.0);
        assert_eq!(homogeneity(&[7], &[9]), 1.0);
    }
}
