//! Secrets of forges, build servers, package registries and developers' tools.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use super::kinds::{Check, Row};

pub(super) const ROWS: &[Row] = &[
    (
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_",
        r"gh[pousr]_[A-Za-z0-9]{36,255}\b",
        Check::Crc,
    ),
    (
        "github-fine-grained-token",
        "github_pat_",
        r"github_pat_[A-Za-z0-9_]{60,255}\b",
        Check::Entropy(30),
    ),
    (
        "gitlab-token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glsoat- glffct- gloas- glwt- gr1348941",
        r"(?:gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|soat|ffct|oas|wt)-[A-Za-z0-9_.-]{18,300}|GR1348941[A-Za-z0-9_-]{20,50})",
        Check::Entropy(28),
    ),
    (
        "bitbucket-token",
        "atbb atctt3",
        r"\b(?:ATBB[A-Za-z0-9_=.-]{28,60}|ATCTT3[A-Za-z0-9_=-]{60,260})",
        Check::Entropy(32),
    ),
    (
        "atlassian-token",
        "atatt3 atstt3",
        r"\bAT[AS]TT3[A-Za-z0-9_=-]{60,260}",
        Check::Entropy(35),
    ),
    (
        "circleci-token",
        "ccipat_ cciprj_",
        r"\bCCI(?:PAT|PRJ)_[A-Za-z0-9]{10,40}_[A-Za-z0-9]{32,64}\b",
        Check::Entropy(30),
    ),
    (
        "buildkite-token",
        "bkua_ bkaa_ bkct_ bkat_",
        r"\bbk(?:ua|aa|ct|at)_[A-Za-z0-9]{40,80}\b",
        Check::Entropy(28),
    ),
    (
        "artifactory-token",
        "akcp cmvmd",
        r"\b(?:AKCp[A-Za-z0-9]{60,80}|cmVmd[A-Za-z0-9]{59})\b",
        Check::Entropy(35),
    ),
    ("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}\b", Check::Crc),
    (
        "pypi-token",
        "pypi-ageichlwas5vcmc pypi-agendgvzdc5wexbp",
        r"pypi-(?:AgEIcHlwaS5vcmc|AgENdGVzdC5weXBpLm9yZw)[A-Za-z0-9_-]{50,1000}",
        Check::Entropy(30),
    ),
    (
        "rubygems-token",
        "rubygems_",
        r"\brubygems_[a-f0-9]{48}\b",
        Check::Entropy(28),
    ),
    (
        "crates-io-token",
        "cio",
        r"\bcio[A-Za-z0-9]{32}\b",
        Check::Entropy(36),
    ),
    (
        "docker-token",
        "dckr_",
        r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{24,60}",
        Check::Entropy(30),
    ),
    ("nuget-key", "oy2", r"\boy2[a-z0-9]{43}\b", Check::Entropy(33)),
    (
        "clojars-token",
        "clojars_",
        r"(?i)\bCLOJARS_[a-z0-9]{60}\b",
        Check::Entropy(30),
    ),
    (
        "postman-key",
        "pmak-",
        r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b",
        Check::Entropy(28),
    ),
    (
        "sentry-token",
        "sntrys_ sntryu_",
        r"\b(?:sntryu_[a-f0-9]{64}|sntrys_[A-Za-z0-9+/=_-]{60,500})",
        Check::Entropy(28),
    ),
    (
        "new-relic-key",
        "nrak- nraa- nrii- nrjs- nral nrbr",
        r"\b(?:NRAK-[A-Z0-9]{27}|NRAA-[a-f0-9]{27}|NRII-[A-Za-z0-9-]{32}|NRJS-[a-f0-9]{19}|[a-f0-9]{36}NRAL|NRBR-[a-f0-9]{19})\b",
        Check::Entropy(28),
    ),
    (
        "grafana-token",
        "glsa_ glc_ eyjrijoi",
        r"\b(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,400}={0,2}|eyJrIjoi[A-Za-z0-9]{60,400}={0,2})",
        Check::Entropy(33),
    ),
    (
        "dynatrace-token",
        "dt0",
        r"\bdt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}\b",
        Check::Entropy(33),
    ),
    (
        "linear-key",
        "lin_api_ lin_oauth_",
        r"\blin_(?:api|oauth)_[A-Za-z0-9]{40,64}\b",
        Check::Entropy(30),
    ),
    (
        "notion-token",
        "ntn_ secret_",
        r"\b(?:ntn_[A-Za-z0-9]{43,50}|secret_[A-Za-z0-9]{43})\b",
        Check::Entropy(36),
    ),
    (
        "airtable-token",
        "pat",
        r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b",
        Check::Entropy(33),
    ),
    (
        "figma-token",
        "figd_ figu_ figo_ figdr_",
        r"\bfig(?:d|u|o|dr)_[A-Za-z0-9_-]{36,60}",
        Check::Entropy(33),
    ),
    (
        "posthog-key",
        "phx_ phs_",
        r"\bph[xs]_[A-Za-z0-9]{43,60}\b",
        Check::Entropy(33),
    ),
    (
        "launchdarkly-key",
        "sdk- api-",
        r"\b(?:sdk|api)-[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}\b",
        Check::Entropy(28),
    ),
    (
        "contentful-token",
        "cfpat-",
        r"\bCFPAT-[A-Za-z0-9_-]{43}",
        Check::Entropy(33),
    ),
    (
        "readme-key",
        "rdme_",
        r"\brdme_[a-z0-9]{70}\b",
        Check::Entropy(30),
    ),
    (
        "prefect-key",
        "pnu_ pnb_",
        r"\bpn[ub]_[A-Za-z0-9]{36}\b",
        Check::Entropy(30),
    ),
    (
        "typeform-token",
        "tfp_",
        r"\btfp_[A-Za-z0-9_.=-]{50,70}",
        Check::Entropy(33),
    ),
    (
        "sonar-token",
        "squ_ sqp_ sqa_",
        r"\bsq[upa]_[a-f0-9]{40}\b",
        Check::Entropy(28),
    ),
    (
        "duffel-token",
        "duffel_",
        r"\bduffel_(?:test|live)_[A-Za-z0-9_=-]{43}",
        Check::Entropy(33),
    ),
];
