"""What continuous integration reads: JUnit, SARIF, GitHub's annotations and step summaries."""
