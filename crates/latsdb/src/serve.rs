//! `latsdb serve`: one node from start to stop.

use anyhow::Result;

use crate::config::Config;
use crate::logging;

pub fn run(config: &Config) -> Result<()> {
    logging::start(config.log_level, config.log_format);
    anyhow::bail!("the engine is not wired yet")
}
