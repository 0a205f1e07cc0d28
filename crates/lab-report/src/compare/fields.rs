//! Every field in which the set-ups of several series can differ, side by side.

use std::collections::BTreeSet;

use crate::page::Sentence;
use crate::series::Series;
use crate::text;

/// Rows of (what, one value per series); only those that differ.
pub struct Fields {
    /// Decide what is sent: if they differ, the figures do not compare.
    pub workload: Vec<Field>,
    /// The rest: machines, versions, variables, the plan.
    pub other: Vec<Field>,
}

pub struct Field {
    pub group: &'static str,
    pub name: String,
    /// `None` where a series has no such thing.
    pub values: Vec<Option<Sentence>>,
}

impl Fields {
    pub fn of(all: &[Series]) -> Fields {
        let mut workload = Vec::new();
        for name in shared_workloads(all) {
            workload.extend(workload_fields(all, &name));
        }
        let mut other = plan_fields(all);
        other.extend(target_fields(all));
        other.extend(machine_fields(all));
        let differs = |field: &Field| {
            let texts: BTreeSet<Option<String>> = field
                .values
                .iter()
                .map(|value| value.as_ref().map(Sentence::plain))
                .collect();
            texts.len() > 1
        };
        workload.retain(differs);
        other.retain(differs);
        Fields { workload, other }
    }

    /// Each difference as a line: `workload rw, table_size: 1000000 | 10000`.
    pub fn unequal_workloads(&self) -> Vec<String> {
        self.workload
            .iter()
            .map(|field| {
                let values: Vec<String> = field
                    .values
                    .iter()
                    .map(|value| value.as_ref().map_or_else(|| "–".into(), Sentence::plain))
                    .collect();
                format!("  {}: {}", field.name, values.join(" | "))
            })
            .collect()
    }
}

/// Names that the first series shares with another.
fn shared_workloads(all: &[Series]) -> Vec<String> {
    let [base, others @ ..] = all else { return Vec::new() };
    base.run
        .workloads
        .iter()
        .map(|workload| workload.name.clone())
        .filter(|name| {
            others
                .iter()
                .any(|series| series.run.workloads.iter().any(|workload| workload.name == *name))
        })
        .collect()
}

fn workload_fields(all: &[Series], name: &str) -> Vec<Field> {
    let at: Vec<Option<usize>> = all
        .iter()
        .map(|series| series.run.workloads.iter().position(|workload| workload.name == name))
        .collect();
    // A series without this workload is only not compared in it.
    let having: Vec<(&Series, Option<usize>)> = all.iter().zip(at).collect();
    let of = |field: &str, value: &dyn Fn(&lab_results::run::Workload) -> Option<(String, Vec<String>)>| Field {
        group: "workload",
        name: format!("workload {name}, {field}"),
        values: having
            .iter()
            .filter_map(|(series, at)| {
                let index = (*at)?;
                Some(value(&series.run.workloads[index]).map(|(text, path)| {
                    let index = index.to_string();
                    let mut parts = vec!["workloads", index.as_str()];
                    parts.extend(path.iter().map(String::as_str));
                    Sentence::new().verbatim(text, series.of_run(&parts))
                }))
            })
            .collect(),
    };
    let mut fields = vec![
        of("kind", &|workload| Some((workload.kind.clone(), vec!["kind".into()]))),
        of("driver", &|workload| {
            Some((workload.driver.clone(), vec!["driver".into()]))
        }),
    ];
    let options: BTreeSet<String> = having
        .iter()
        .filter_map(|(series, at)| at.map(|index| &series.run.workloads[index]))
        .flat_map(|workload| workload.options.keys().cloned())
        .collect();
    for option in options {
        fields.push(of(&option, &|workload| {
            workload
                .options
                .get(&option)
                .map(|value| (value.clone(), vec!["options".into(), option.clone()]))
        }));
    }
    fields
}

fn plan_fields(all: &[Series]) -> Vec<Field> {
    type Of = fn(&Series) -> Option<String>;
    let fields: [(&str, &[&str], Of); 9] = [
        ("lab version", &["lab_version"], |series| {
            Some(series.run.lab_version.clone())
        }),
        ("seed", &["seed"], |series| Some(series.run.seed.to_string())),
        ("warm-up, s", &["plan", "warmup_s"], |series| {
            Some(series.run.plan.warmup_s.to_string())
        }),
        ("measured, s", &["plan", "measure_s"], |series| {
            Some(series.run.plan.measure_s.to_string())
        }),
        ("cool-down, s", &["plan", "cooldown_s"], |series| {
            Some(series.run.plan.cooldown_s.to_string())
        }),
        ("repeats", &["plan", "repeats"], |series| {
            Some(series.run.plan.repeats.to_string())
        }),
        ("order", &["plan", "order"], |series| {
            Some(series.run.plan.order.clone())
        }),
        ("service level, ms", &["slo", "latency_ms"], |series| {
            series.run.slo.as_ref().map(|slo| slo.latency_ms.to_string())
        }),
        ("service level, quantile", &["slo", "quantile"], |series| {
            series.run.slo.as_ref().map(|slo| slo.quantile.to_string())
        }),
    ];
    let mut rows: Vec<Field> = fields
        .into_iter()
        .map(|(name, path, of)| Field {
            group: "plan",
            name: name.into(),
            values: all
                .iter()
                .map(|series| of(series).map(|text| Sentence::new().verbatim(text, series.of_run(path))))
                .collect(),
        })
        .collect();
    rows.insert(
        0,
        Field {
            group: "plan",
            name: "measured on".into(),
            values: all
                .iter()
                .map(|series| {
                    let from = format!("utc({})", series.of_run(&["started"]));
                    Some(Sentence::new().derived(text::utc(series.run.started), from))
                })
                .collect(),
        },
    );
    rows
}

/// By the target's name; with one target each, the two are taken for each other's.
fn target_fields(all: &[Series]) -> Vec<Field> {
    let single = all.iter().all(|series| series.run.targets.len() == 1);
    let mut names: Vec<String> = Vec::new();
    for target in all.iter().flat_map(|series| &series.run.targets) {
        if !names.contains(&target.name) {
            names.push(target.name.clone());
        }
    }
    if single {
        names.truncate(1);
    }
    let mut fields = Vec::new();
    for name in names {
        let found: Vec<Option<usize>> = all
            .iter()
            .map(|series| {
                if single {
                    return Some(0);
                }
                series.run.targets.iter().position(|target| target.name == name)
            })
            .collect();
        let of = |field: &str, value: &dyn Fn(&lab_results::run::Target) -> Option<(String, Vec<String>)>| Field {
            group: "target",
            name: if single {
                format!("target, {field}")
            } else {
                format!("target {name}, {field}")
            },
            values: all
                .iter()
                .zip(&found)
                .map(|(series, at)| {
                    let index = (*at)?;
                    let (text, path) = value(&series.run.targets[index])?;
                    let index = index.to_string();
                    let mut parts = vec!["targets", index.as_str()];
                    parts.extend(path.iter().map(String::as_str));
                    Some(Sentence::new().verbatim(text, series.of_run(&parts)))
                })
                .collect(),
        };
        fields.push(of("name", &|target| Some((target.name.clone(), vec!["name".into()]))));
        fields.push(of("version", &|target| {
            Some((target.versions.first()?.clone(), vec!["versions".into(), "0".into()]))
        }));
        fields.push(of("servers", &|target| {
            Some((target.servers.join(", "), vec!["servers".into()]))
        }));
        fields.push(Field {
            group: "target",
            name: if single {
                "target, connections".into()
            } else {
                format!("target {name}, connections")
            },
            values: all
                .iter()
                .zip(&found)
                .map(|(series, at)| {
                    let index = (*at)?;
                    // Before there was a choice, connections were plain.
                    Some(match &series.run.targets[index].tls {
                        Some(tls) if tls.mode != "disabled" => {
                            let from = |field| series.of_run(&["targets", &index.to_string(), "tls", field]);
                            Sentence::new()
                                .verbatim(&tls.mode, from("mode"))
                                .and(": ")
                                .verbatim(tls.used.join(", "), from("used"))
                        }
                        _ => Sentence::words("plain"),
                    })
                })
                .collect(),
        });
        fields.push(of("price per hour, millionths of a dollar", &|target| {
            let price = target.price.as_ref()?;
            Some((
                price.micro_usd_per_hour.to_string(),
                vec!["price".into(), "micro_usd_per_hour".into()],
            ))
        }));
        let variables: BTreeSet<String> = all
            .iter()
            .zip(&found)
            .filter_map(|(series, at)| at.map(|index| &series.run.targets[index]))
            .flat_map(|target| target.variables.keys().cloned())
            .collect();
        for variable in variables {
            fields.push(of(&variable, &|target| {
                target
                    .variables
                    .get(&variable)
                    .map(|value| (value.clone(), vec!["variables".into(), variable.clone()]))
            }));
        }
    }
    fields
}

/// By the node's name: what the plan says of it, and what the probes identified.
fn machine_fields(all: &[Series]) -> Vec<Field> {
    let names: BTreeSet<&String> = all
        .iter()
        .flat_map(|series| series.run.nodes.iter().map(|node| &node.name))
        .collect();
    let mut fields = Vec::new();
    for name in names {
        let facts: BTreeSet<&String> = all
            .iter()
            .flat_map(|series| series.run.nodes.iter().filter(|node| node.name == *name))
            .flat_map(|node| node.facts.keys())
            .collect();
        for fact in facts {
            fields.push(Field {
                group: "machine",
                name: format!("node {name}, {fact}"),
                values: all
                    .iter()
                    .map(|series| {
                        let index = series.run.nodes.iter().position(|node| node.name == *name)?;
                        let value = series.run.nodes[index].facts.get(fact)?;
                        Some(
                            Sentence::new()
                                .verbatim(value, series.of_run(&["nodes", &index.to_string(), "facts", fact])),
                        )
                    })
                    .collect(),
            });
        }
        fields.extend(identity_fields(all, name));
    }
    fields
}

fn identity_fields(all: &[Series], name: &str) -> Vec<Field> {
    type Of = fn(&lab_results::host::Identity) -> String;
    let fields: [(&str, Of); 5] = [
        ("cpu_model", |identity| identity.cpu_model.clone()),
        ("cores", |identity| identity.cores.to_string()),
        ("memory_bytes", |identity| identity.memory_bytes.to_string()),
        ("kernel", |identity| identity.kernel.clone()),
        ("distribution", |identity| identity.distribution.clone()),
    ];
    fields
        .into_iter()
        .map(|(field, of)| Field {
            group: "machine",
            name: format!("node {name}, {field}"),
            values: all
                .iter()
                .map(|series| {
                    let at = series.probes.iter().position(|probes| probes.node == name)?;
                    let from = series.place("probes").field(&[&at.to_string(), "identity", field]);
                    Some(Sentence::new().verbatim(of(&series.probes[at].identity), from))
                })
                .collect(),
        })
        .collect()
}
