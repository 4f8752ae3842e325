//! The printed and corrected statements on critical points.

use super::Says;
use crate::claim::{Card, Discrepancy, Kind, Paper, VerdictKind};

/// Where it is printed and what it says.
pub(super) fn card(says: Says) -> Card {
    let base = |id, equation, title, statement, expected, corrected| Card {
        id,
        paper: Paper::Joma,
        equation,
        title,
        statement,
        kind: Kind::Identity,
        expected,
        corrected,
    };
    use Says::*;
    match says {
        Printed => base(
            "joma.theorem3",
            "Theorem 3, Eqs. (5), (72) to (74)",
            "The dynamics near a critical point, as printed",
            "Near to the critical point $\\mu \\neq 0$ the dynamics can be written as $\\dot v = \
             sgn(\\mu^T\\bar x_+)\\{\\beta_1(\\mu) I + \\beta_2(\\mu)\\mu\\mu^T\\}(1 + \\lambda)(\\mu - v)$ \
             with $\\beta_1 = s_\\mu\\frac{a_+\\|\\bar x_+\\|}{\\|\\mu\\|^2}\\theta_1(r_+^*)$, $\\beta_2 = \
             s_\\mu\\frac{a_+\\|\\bar x_+\\|}{\\|\\mu\\|^4}(\\xi^* \\frac{d\\theta_1}{dr}|_{r_+^*} - \
             2\\theta_1(r_+^*))$.",
            VerdictKind::Refuted,
            Some(
                "$\\beta_1 = a_+\\|\\bar x_+\\|\\theta_1(\\rho_+)/\\|\\mu\\|$ and $\\beta_1 + \
                 \\beta_2\\|\\mu\\|^2 = (c_+ - c_-)\\xi^{*2}(a_-p_n(\\rho_-) - \
                 a_+p_n(\\rho_+))/\\|\\mu\\|^3$ with $\\rho = r/\\|\\mu\\|$ \
                 (`joma.theorem3_corrected`).",
            ),
        ),
        Corrected | Isotropic => base(
            "joma.theorem3_corrected",
            "Theorem 3, Eq. (5), with Lemma 1 corrected",
            "The dynamics near a critical point",
            "To first order $\\dot v = (\\beta_1 I + \\beta_2\\mu\\mu^T)(\\mu - v)$ with $\\beta_1 = \
             a_+\\|\\bar x_+\\|\\theta_1(\\rho_+)/\\|\\mu\\|$, $\\beta_1 + \\beta_2\\|\\mu\\|^2 = (c_+ - \
             c_-)\\xi^{*2}(a_-p_n(\\rho_-) - a_+p_n(\\rho_+))/\\|\\mu\\|^3$, $\\rho_+ = (\\mu^T\\bar x_+ + \
             \\xi^*)/\\|\\mu\\|$, $\\rho_- = \\xi^*/\\|\\mu\\|$.",
            VerdictKind::Supported,
            Some(
                "For any homogeneous φ. Where no critical point exists, as for linear φ, and for ReLU \
                 under all log-concave laws, it says nothing; leaky ReLU of slope 0.1 has some for \
                 Student's law with ν below about 1.5, |x| for every law (`activation=leaky-relu`, \
                 `activation=absolute`). (6) \
                 drops the second term: it is no constant shift but changes the rate along μ.",
            ),
        ),
        Definite => base(
            "joma.theorem3_definite",
            "Theorem 3, Eqs. (72) to (74)",
            "The printed dynamics lead to the critical point",
            "$C(\\mu) = \\beta_1(\\mu) I + \\beta_2(\\mu)\\mu\\mu^T$ with (73) and (74) is positive definite \
             (so that (5), and (6) after it, converge to μ).",
            VerdictKind::Refuted,
            Some(
                "By (73), (74) the rate along μ is $(a_+\\|\\bar x_+\\|/\\|\\mu\\|^2)(\\xi^*\\theta_1' - \
                 \\theta_1) < 0$ for $\\xi^* \\leq 0$: a saddle. With Lemma 1 corrected it is positive \
                 (`joma.theorem3_definite_corrected`).",
            ),
        ),
        DefiniteCorrected | Indefinite => base(
            "joma.theorem3_definite_corrected",
            "Theorem 3, Eq. (5), with Lemma 1 corrected",
            "Critical points attract",
            "With Lemma 1 corrected, $C(\\mu)$ is positive definite at every critical point with $\\rho_- \
             < \\rho_+$ on the two branches of the mean residual life m: along μ it has the sign of \
             $h(-\\rho_-) - h(-\\rho_+)$, and hazard rates obey $m' = hm - 1$.",
            VerdictKind::Supported,
            None,
        ),
        Zero => base(
            "joma.lemma4",
            "Lemma 4, Eq. (54)",
            "At stationary points the F of all components cancel, as printed",
            "For any homogeneous activation any stationary point of Eqn. 42 must satisfy $\\sum_j a_j \
             F(r_j) = 0$ (at $r_j = v^T\\bar x_j + \\xi$; for the dynamics of the layer).",
            VerdictKind::Refuted,
            Some("At $\\rho_j = r_j/\\|v\\|$ (`joma.lemma4_corrected`)."),
        ),
        ZeroCorrected | ZeroOfTheta2 => base(
            "joma.lemma4_corrected",
            "Lemma 4, Eq. (54), with Lemma 1 corrected",
            "At stationary points the F of all components cancel",
            "At any stationary point $\\sum_j a_j F(\\rho_j) = 0$ with $\\rho_j = (v^T\\bar x_j + \
             \\xi)/\\|v\\|$.",
            VerdictKind::Supported,
            None,
        ),
        Range => base(
            "joma.lemma4_range",
            "Lemma 4, after Eq. (59)",
            "Critical points have weights within a factor of 2",
            "And it's easy to find that $\\forall s \\in S, s \\in (\\frac12, 1) \\cup (1, 2)$ (for \
             $a_+/a_- \\in S$, where critical points exist).",
            VerdictKind::Refuted,
            Some(
                "True for pairs with $\\rho_-, \\rho_+ \\geq 0$ (`joma.lemma4_range_corrected`), which \
                 the remarks of E.4 exclude: there $\\rho_- < 0 < \\rho_+$.",
            ),
        ),
        RangeCorrected | NarrowRange => base(
            "joma.lemma4_range_corrected",
            "Lemma 4, after Eq. (59)",
            "Critical points on the upper half of G have weights within a factor of 2",
            "For pairs $0 \\leq \\rho_- < \\rho_+$ on one line through 0, $\\theta_1(\\rho_+)/\
             \\theta_1(\\rho_-) \\in (1, 2)$.",
            VerdictKind::Supported,
            None,
        ),
        Existence | FartherPair => base(
            "joma.lemma4_existence",
            "Lemma 4, Eq. (58)",
            "A sufficient condition for a critical point",
            "In order that line $l_k: y = kx$ has at least two points of intersection with curve G, we \
             just need $\\theta_2(0) p_n(0) \\geq \\frac14$ (ReLU).",
            VerdictKind::Supported,
            Some(
                "The condition fails for every log-concave law (Gaussian .159, ball .125 to .159, \
                 logistic .173), for which there is no critical point at all, and for Student's \
                 law from $\\nu = 2$ on, which has critical points with $\\rho_- < 0$.",
            ),
        ),
    }
}

/// What is wrong with the print, where something is.
pub(super) fn discrepancy(says: Says) -> Option<Discrepancy> {
    let found = match says {
        Says::Printed => Discrepancy {
            printed: "(73) and (74) linearise (50), which has Lemma 1's error; besides, $s_\\mu$ stands both in \
                      (5) and in (73), (74).",
            witness: "Student inputs with 3 degrees of freedom, $\\rho_- = -3$, $\\rho_+ = 1.396839$, $a_-/a_+ = \
                      30.2267$, $\\|\\mu\\| = 1$: the field leaves μ with rates −5.04 along μ and −3.83 across; \
                      (73), (74) say +5.61 and −3.83.",
            range: "Every critical point.",
            correction: "`joma.theorem3_corrected`.",
        },
        Says::Definite => Discrepancy {
            printed: "After (74): $s_\\mu > 0$ is named as a necessary condition for $C(\\mu)$ to be positive \
                      definite; (5), (6) and Theorem 4 then take it to be.",
            witness: "$\\beta_1 + \\beta_2\\|\\mu\\|^2 = -5.61$ in the example of `joma.theorem3`.",
            range: "Every critical point with $\\xi^* \\leq 0$, which E.4 says is the usual case.",
            correction: "The field with Lemma 1 corrected does converge to μ (up to its length, which is free): \
                         `joma.theorem3_definite_corrected`. For Gaussian inputs there is no μ.",
        },
        Says::Zero => Discrepancy {
            printed: "(54) has F at $r_j$, from Lemma 1 as printed.",
            witness: "Flows of the layer's field that have come to rest: $\\sum_j a_j F(\\rho_j) = 0$ to 1e-8, the \
                      printed sum is not.",
            range: "$\\|v\\| \\neq 1$.",
            correction: "$\\rho_j$ (`joma.lemma4_corrected`). (57) prints $y_+ := \\theta_1^{-1}(r_+)$ for \
                         $\\theta_1(r_+)$.",
        },
        Says::Range => Discrepancy {
            printed: "All ratios $a_+/a_-$ with critical points lie in $(1/2, 1) \\cup (1, 2)$.",
            witness: "$a_-/a_+ = 30.2$ in the example of `joma.theorem3`.",
            range: "Pairs with $\\rho_- < 0$, that is $\\theta_1(\\rho_-) < 1/2$.",
            correction: "`joma.lemma4_range_corrected`.",
        },
        _ => return None,
    };
    Some(found)
}
