"""Reports for continuous integration: JUnit, SARIF, GitHub's annotations and step summaries."""
